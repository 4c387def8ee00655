# The limiter: the stack of a release, with your rules. Put template.json and the
# two zips of the release beside this file.
#
# If `slidegate aws deploy` made the limiter, these lines replace the file:
#
#   data "aws_cloudformation_stack" "slidegate" {
#     name = "slidegate"
#   }
#   locals {
#     slidegate_uri = data.aws_cloudformation_stack.slidegate.outputs["AuthorizerUri"]
#   }

variable "bucket" {
  description = "A bucket of this account and region, for the Lambdas' code and the rules."
  type        = string
}

locals {
  slidegate_uri = aws_cloudformation_stack.slidegate.outputs["AuthorizerUri"]
  slidegate_files = {
    AuthorizerKey = "authorizer_arm64.zip"
    OperationsKey = "operations_arm64.zip"
    RulesKey      = "rules.yaml"
  }
}

# The hash in a key makes each change of a file a change of the stack.
resource "aws_s3_object" "slidegate" {
  for_each = local.slidegate_files
  bucket   = var.bucket
  key      = "slidegate/${filesha256("${path.module}/${each.value}")}${regex("[.][a-z]+$", each.value)}"
  source   = "${path.module}/${each.value}"

  lifecycle {
    create_before_destroy = true # a rollback of the stack needs the old one
  }
}

resource "aws_cloudformation_stack" "slidegate" {
  name          = "slidegate"
  template_body = file("${path.module}/template.json")
  capabilities  = ["CAPABILITY_IAM"]
  parameters = {
    CodeBucket    = var.bucket
    AuthorizerKey = aws_s3_object.slidegate["AuthorizerKey"].key
    OperationsKey = aws_s3_object.slidegate["OperationsKey"].key
    Architecture  = "arm64"
    RulesBucket   = var.bucket
    RulesKey      = aws_s3_object.slidegate["RulesKey"].key
    RulesHash     = filesha256("${path.module}/rules.yaml")
  }
}
