# SPDX-License-Identifier: Apache-2.0
"""Changes of a recorded step for a described run: collectives, which need a device, and the backward pass
of convolutions as PyTorch of 2021 had it."""

from .devices import flops_of
from .halves import ANNOTATION, OPERATOR, Node
from .run import Collective


def collective_node(kind, elements, group, size, rank=0, late_ns=0):
    """An operator of torch.distributed, and the annotation of its backend within."""
    scalar = {"allreduce": ("Float", "float"), "all_to_all": ("Byte", "unsigned char"),
              "_allgather_base": ("BFloat16", "c10::BFloat16")}[kind]
    about = {"Collective name": kind, "Process Group Description": "default_pg", "dtype": scalar[0], "Rank": rank,
             "Out msg nelems": elements, "Process Group Name": group, "Global rank stride": 1,
             "Out split size": "[]", "In split size": "[]", "Process Group Ranks": str(list(range(size))),
             "Group size": size, "Global rank start": 0, "In msg nelems": elements}
    shapes = {"Concrete Inputs": [""], "Input type": [scalar[1]], "Input Strides": [[1]], "Input Dims": [[elements]]}
    name = {"allreduce": "nccl:all_reduce", "all_to_all": "nccl:all_to_all",
            "_allgather_base": "nccl:_all_gather_base"}[kind]
    inner = Node(ANNOTATION, name, shapes | {"_collective": Collective(kind, elements, group, size, late_ns=late_ns)})
    return Node(OPERATOR, "record_param_comms", shapes | {"_args": about}, [inner])


def after(tree, name, count, make):
    """Puts make(i) behind the last operator of each of `count` equal parts of those with this name."""
    places = [(parent, child) for parent in tree.walk() for child in parent.children if child.name.endswith(name)]
    for i in range(count):
        parent, child = places[(i + 1) * len(places) // count - 1]
        parent.children.insert(parent.children.index(child) + 1, make(i))
    return tree


def old_convolutions(tree):
    """Two operators within the one of the backward pass, and its arguments in another order."""
    for node in tree.walk():
        if node.name != "aten::convolution_backward":
            continue
        args, dims = node.args, node.args["Input Dims"]
        grad, image, weight = dims[:3]
        each = flops_of(node.name, args)
        node.name = "aten::cudnn_convolution_backward"
        node.args = {"Input Dims": [image, grad, weight] + [[]] * 8,
                     "Input type": ["float"] * 3 + ["GenericList"] * 3 + ["Int", "Bool", "Bool", "Bool", "GenericList"],
                     "Concrete Inputs": [""] * 11}
        ways = ["input", "weight"] if args["Concrete Inputs"][-1].startswith("[True") else ["weight"]
        for way in ways:
            node.children.append(Node(OPERATOR, f"aten::cudnn_convolution_backward_{way}", {
                "Input Dims": [[], grad, weight if way == "input" else image] + [[]] * 7,
                "Input type": ["GenericList", "float", "float"] + ["GenericList"] * 3 + ["Int", "Bool", "Bool", "Bool"],
                "Concrete Inputs": [""] * 10, "_flops": each}))
    return tree
