# SPDX-License-Identifier: Apache-2.0
"""The recipes of other package managers: valid, and of this version."""

import re

import pytest
from conftest import ROOT

RECIPE = ROOT / "packaging" / "conda" / "recipe.yaml"
VARIANTS = "c_compiler: [gcc]\nc_stdlib: [sysroot]\npython: ['3.10.*', '3.14.*']\n"


def test_conda():
    rattler_build = pytest.importorskip("rattler_build", reason="py-rattler-build is not installed")
    recipe = rattler_build.Stage0Recipe.from_file(RECIPE)
    rendered = list(recipe.render(rattler_build.VariantConfig.from_yaml(VARIANTS)))
    version = re.search(r"project\(stepscope VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    assert [(str(one.recipe.package.name), str(one.recipe.package.version)) for one in rendered] == [
        ("stepscope", version)] * 2  # for each Python
