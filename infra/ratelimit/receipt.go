package ratelimit

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/internal/lambda/apigw"
)

// ReceiptParameters hands the authorizer's receipt to the HTTP backend of a REST
// API. Pass it as RequestParameters of the integration, or add it to those. The
// authorizer must sign its receipts: set SLIDEGATE_RECEIPT_SECRET in Secrets.
func (r *RateLimit) ReceiptParameters() *map[string]*string {
	return &map[string]*string{"integration.request.header." + apigw.ReceiptField: jsii.String(apigw.ReceiptSource)}
}

// ReceiptMapping hands the authorizer's receipt to the HTTP backend of an HTTP
// API, as ReceiptParameters does for a REST API. Pass it as ParameterMapping of
// the integration.
func (r *RateLimit) ReceiptMapping() awsapigatewayv2.ParameterMapping {
	return awsapigatewayv2.NewParameterMapping().OverwriteHeader(jsii.String(apigw.ReceiptField),
		awsapigatewayv2.MappingValue_Custom(jsii.String("$"+apigw.ReceiptSource)))
}
