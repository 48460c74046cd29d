"""apiextensions/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import KindRow, Row, Subresource, Types, Validation, object_types

GROUP: Final = "apiextensions.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.apiextensions-apiserver.pkg.apis.apiextensions.v1."

UNPUBLISHED: Final[frozenset[str]] = frozenset(("ConversionRequest", "ConversionResponse", "ConversionReview"))

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="CustomResourceDefinition",
        plural="customresourcedefinitions",
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        key="apiextensions.{abbr}.io/customresourcedefinitions",
        storage_version="apiextensions.{abbr}.io/v1",
        announced_version="apiextensions.{abbr}.io/v1beta1",
        strategy="DefinitionStrategy",
        validation=Validation(create="validate.apiextensions.create", update="validate.apiextensions.update"),
        generation=("spec",),
        unconditional_update=False,
        # The reference resets metadata to what was sent, not to what is stored, so the status endpoint can remove finalizers.
        subresources=(
            Subresource(
                name="status",
                update="validate.apiextensions.update_status",
                resets=("metadata", "spec"),
                tables=False,
            ),
        ),
    ),
)

TYPES: Final[Types] = {
    **object_types("CustomResourceDefinition", spec="required"),
    "ConversionRequest": (
        ("uid", 1, "string", "required"),
        ("desiredAPIVersion", 2, "string", "required"),
        ("objects", 3, "[]raw", "required list=atomic@1.35"),
    ),
    "ConversionResponse": (
        ("uid", 1, "string", "required"),
        ("convertedObjects", 2, "[]raw", "required list=atomic@1.35"),
        ("result", 3, "meta/v1.Status", "required"),
    ),
    "ConversionReview": (
        ("request", 1, "ConversionRequest", "omit ptr"),
        ("response", 2, "ConversionResponse", "omit ptr"),
    ),
    "CustomResourceColumnDefinition": (
        ("name", 1, "string", "required"),
        ("type", 2, "string", "required"),
        ("format", 3, "string", "omit"),
        ("description", 4, "string", "omit"),
        ("priority", 5, "int32", "omit"),
        ("jsonPath", 6, "string", "required"),
    ),
    "CustomResourceConversion": (
        ("strategy", 1, "string", "required"),
        ("webhook", 2, "WebhookConversion", "omit ptr"),
    ),
    "CustomResourceDefinitionCondition": (
        ("type", 1, "string", "required"),
        ("status", 2, "string", "required"),
        ("lastTransitionTime", 3, "time", "omit"),
        ("reason", 4, "string", "omit"),
        ("message", 5, "string", "omit"),
        ("observedGeneration", 6, "int64", "omit since=1.35"),
    ),
    "CustomResourceDefinitionNames": (
        ("plural", 1, "string", "required"),
        ("singular", 2, "string", "omit"),
        ("shortNames", 3, "[]string", "omit list=atomic@1.35"),
        ("kind", 4, "string", "required"),
        ("listKind", 5, "string", "omit"),
        ("categories", 6, "[]string", "omit list=atomic@1.35"),
    ),
    "CustomResourceDefinitionSpec": (
        ("group", 1, "string", "required"),
        ("names", 3, "CustomResourceDefinitionNames", "required"),
        ("scope", 4, "string", "required"),
        ("versions", 7, "[]CustomResourceDefinitionVersion", "required list=atomic@1.35"),
        ("conversion", 9, "CustomResourceConversion", "omit ptr"),
        ("preserveUnknownFields", 10, "bool", "omit"),
    ),
    "CustomResourceDefinitionStatus": (
        ("conditions", 1, "[]CustomResourceDefinitionCondition", "keys=type"),
        ("acceptedNames", 2, "CustomResourceDefinitionNames", ""),
        ("storedVersions", 3, "[]string", "list=atomic@1.35"),
        ("observedGeneration", 4, "int64", "omit since=1.35"),
    ),
    "CustomResourceDefinitionVersion": (
        ("name", 1, "string", "required"),
        ("served", 2, "bool", "required"),
        ("storage", 3, "bool", "required"),
        ("deprecated", 7, "bool", "omit"),
        ("deprecationWarning", 8, "string", "omit ptr"),
        ("schema", 4, "CustomResourceValidation", "omit ptr"),
        ("subresources", 5, "CustomResourceSubresources", "omit ptr"),
        ("additionalPrinterColumns", 6, "[]CustomResourceColumnDefinition", "omit list=atomic@1.35"),
        # Of release 1.30: only newer clients define it.
        ("selectableFields", 9, "[]SelectableField", "omit list=atomic"),
    ),
    "CustomResourceSubresourceScale": (
        ("specReplicasPath", 1, "string", "required"),
        ("statusReplicasPath", 2, "string", "required"),
        ("labelSelectorPath", 3, "string", "omit ptr"),
    ),
    "CustomResourceSubresourceStatus": (),
    "CustomResourceSubresources": (
        ("status", 1, "CustomResourceSubresourceStatus", "omit ptr"),
        ("scale", 2, "CustomResourceSubresourceScale", "omit ptr"),
    ),
    "CustomResourceValidation": (("openAPIV3Schema", 1, "JSONSchemaProps", "omit ptr"),),
    "ExternalDocumentation": (("description", 1, "string", "omit"), ("url", 2, "string", "omit")),
    "JSONSchemaProps": (
        ("id", 1, "string", "omit"),
        ("$schema", 2, "string", "omit"),
        ("$ref", 3, "string", "omit ptr"),
        ("description", 4, "string", "omit"),
        ("type", 5, "string", "omit"),
        ("format", 6, "string", "omit"),
        ("title", 7, "string", "omit"),
        ("default", 8, "any", "omit ptr"),
        ("maximum", 9, "number", "omit ptr"),
        ("exclusiveMaximum", 10, "bool", "omit"),
        ("minimum", 11, "number", "omit ptr"),
        ("exclusiveMinimum", 12, "bool", "omit"),
        ("maxLength", 13, "int64", "omit ptr"),
        ("minLength", 14, "int64", "omit ptr"),
        ("pattern", 15, "string", "omit"),
        ("maxItems", 16, "int64", "omit ptr"),
        ("minItems", 17, "int64", "omit ptr"),
        ("uniqueItems", 18, "bool", "omit"),
        ("multipleOf", 19, "number", "omit ptr"),
        ("enum", 20, "[]any", "omit list=atomic@1.35"),
        ("maxProperties", 21, "int64", "omit ptr"),
        ("minProperties", 22, "int64", "omit ptr"),
        ("required", 23, "[]string", "omit list=atomic@1.35"),
        ("items", 24, "JSONSchemaPropsOrArray", "omit ptr"),
        ("allOf", 25, "[]JSONSchemaProps", "omit list=atomic@1.35"),
        ("oneOf", 26, "[]JSONSchemaProps", "omit list=atomic@1.35"),
        ("anyOf", 27, "[]JSONSchemaProps", "omit list=atomic@1.35"),
        ("not", 28, "JSONSchemaProps", "omit ptr"),
        ("properties", 29, "{}JSONSchemaProps", "omit"),
        ("additionalProperties", 30, "JSONSchemaPropsOrBool", "omit ptr"),
        ("patternProperties", 31, "{}JSONSchemaProps", "omit"),
        ("dependencies", 32, "{}JSONSchemaPropsOrStringArray", "omit ptr"),
        ("additionalItems", 33, "JSONSchemaPropsOrBool", "omit ptr"),
        ("definitions", 34, "{}JSONSchemaProps", "omit"),
        ("externalDocs", 35, "ExternalDocumentation", "omit ptr"),
        ("example", 36, "any", "omit ptr"),
        ("nullable", 37, "bool", "omit"),
        ("x-{long}-preserve-unknown-fields", 38, "bool", "omit ptr"),
        ("x-{long}-embedded-resource", 39, "bool", "omit"),
        ("x-{long}-int-or-string", 40, "bool", "omit"),
        ("x-{long}-list-map-keys", 41, "[]string", "omit list=atomic@1.35"),
        ("x-{long}-list-type", 42, "string", "omit ptr"),
        ("x-{long}-map-type", 43, "string", "omit ptr"),
        ("x-{long}-validations", 44, "[]ValidationRule", "omit merge=rule keys=rule"),
    ),
    "JSONSchemaPropsOrArray": (
        ("Schema", 1, "JSONSchemaProps", "required ptr"),
        ("JSONSchemas", 2, "[]JSONSchemaProps", "required"),
    ),
    "JSONSchemaPropsOrBool": (("Allows", 1, "bool", "required"), ("Schema", 2, "JSONSchemaProps", "required ptr")),
    "JSONSchemaPropsOrStringArray": (
        ("Schema", 1, "JSONSchemaProps", "required ptr"),
        ("Property", 2, "[]string", "required"),
    ),
    "SelectableField": (("jsonPath", 1, "string", "required"),),
    "ServiceReference": (
        ("namespace", 1, "string", "required"),
        ("name", 2, "string", "required"),
        ("path", 3, "string", "omit ptr"),
        ("port", 4, "int32", "omit ptr"),
    ),
    "ValidationRule": (
        ("rule", 1, "string", "required"),
        ("message", 2, "string", "omit"),
        # Of releases 1.27 to 1.29: only newer clients define them.
        ("messageExpression", 3, "string", "omit"),
        ("reason", 4, "string", "omit ptr"),
        ("fieldPath", 5, "string", "omit"),
        ("optionalOldSelf", 6, "bool", "omit ptr"),
    ),
    "WebhookClientConfig": (
        ("url", 3, "string", "omit ptr"),
        ("service", 1, "ServiceReference", "omit ptr"),
        ("caBundle", 2, "bytes", "omit"),
    ),
    "WebhookConversion": (
        ("clientConfig", 2, "WebhookClientConfig", "omit ptr"),
        ("conversionReviewVersions", 3, "[]string", "required list=atomic@1.35"),
    ),
}
