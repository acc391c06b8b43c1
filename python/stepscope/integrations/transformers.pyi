# SPDX-License-Identifier: Apache-2.0
from transformers import TrainerCallback

class StepscopeCallback(TrainerCallback):
    def __init__(self, phases: bool = ...) -> None: ...
