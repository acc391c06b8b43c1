# SPDX-License-Identifier: Apache-2.0
"""What a portable build consists of, as CycloneDX 1.5."""

import json


def _component(row):
    return {"type": "library", "bom-ref": f"{row['package']}-{row['version']}", "name": row["package"],
            "version": row["version"], "licenses": [{"license": {"name": row["spdx"]}}],
            "hashes": [{"alg": "SHA-256", "content": row["sha256"]}],
            "purl": f"pkg:deb/debian/{row['package']}@{row['version']}?arch=source",
            "properties": [{"name": "file", "value": row["file"]}]}


def text(version, rows):
    """The document for one version of stepscope and the rows of sources.tsv."""
    components = [_component(row) for row in rows]
    root = f"stepscope-{version}"
    document = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": root, "name": "stepscope", "version": version,
                                   "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": components,
        "dependencies": [{"ref": root, "dependsOn": [one["bom-ref"] for one in components]}]}
    return json.dumps(document, indent=1) + "\n"
