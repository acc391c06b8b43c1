# SPDX-License-Identifier: Apache-2.0
from . import composer as composer
from . import deepspeed as deepspeed
from . import lightning as lightning
from . import transformers as transformers
