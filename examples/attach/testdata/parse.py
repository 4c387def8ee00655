"""Prints a template as JSON: SAM as CloudFormation gets it, and HCL as it is."""

import json
import os
import sys
from types import SimpleNamespace

import hcl2
from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse

os.environ["AWS_DEFAULT_REGION"] = "us-east-1"  # SAM writes it into the template
with open(sys.argv[1]) as template:
    if sys.argv[1].endswith(".tf"):
        parsed = hcl2.load(template)
    else:
        parsed = transform(yaml_parse(template), {}, SimpleNamespace(load=lambda: {}))
json.dump(parsed, sys.stdout)
