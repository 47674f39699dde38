import { IsNumberString, IsOptional, IsString } from 'class-validator';
import { HttpUrl, OneOf } from './environment.decorators';

const Protocol = (): PropertyDecorator => OneOf(['http/protobuf', 'http/json']);

/**
 * Configures the service's own traces, with OpenTelemetry's variables. Its SDK reads them itself. They are members here
 * so that an invalid value stops the start instead of losing traces.
 */
export abstract class TracingEnvironment {
  /** Base URL of an OTLP/HTTP endpoint for traces; `/v1/traces` is appended. Default: nothing is traced. */
  @IsOptional()
  @HttpUrl()
  OTEL_EXPORTER_OTLP_ENDPOINT?: string;

  /** The complete URL of the endpoint. Overrides OTEL_EXPORTER_OTLP_ENDPOINT. */
  @IsOptional()
  @HttpUrl()
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string;

  /** `http/protobuf` or `http/json`. */
  @IsOptional()
  @Protocol()
  OTEL_EXPORTER_OTLP_PROTOCOL?: string;

  /** Overrides OTEL_EXPORTER_OTLP_PROTOCOL for traces. */
  @IsOptional()
  @Protocol()
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL?: string;

  /** Headers of each request to the endpoint: `name=value,name=value`, with percent-encoded values. */
  @IsOptional()
  @IsString()
  OTEL_EXPORTER_OTLP_HEADERS?: string;

  /** `gzip` or `none`. */
  @IsOptional()
  @OneOf(['gzip', 'none'])
  OTEL_EXPORTER_OTLP_COMPRESSION?: string;

  /** `service.name` of the traces. */
  @IsOptional()
  @IsString()
  OTEL_SERVICE_NAME?: string;

  /** More attributes of the resource: `key=value,key=value`, percent-encoded. */
  @IsOptional()
  @IsString()
  OTEL_RESOURCE_ATTRIBUTES?: string;

  /** The sampler of traces. */
  @IsOptional()
  @OneOf([
    'always_on',
    'always_off',
    'traceidratio',
    'parentbased_always_on',
    'parentbased_always_off',
    'parentbased_traceidratio',
  ])
  OTEL_TRACES_SAMPLER?: string;

  /** The share of traces that `traceidratio` keeps, from 0 to 1. */
  @IsOptional()
  @IsNumberString({}, { message: 'must be a number' })
  OTEL_TRACES_SAMPLER_ARG?: string;

  /** `none` turns traces off. */
  @IsOptional()
  @OneOf(['otlp', 'none'])
  OTEL_TRACES_EXPORTER?: string;

  /** `true` turns traces off. */
  @IsOptional()
  @IsString()
  OTEL_SDK_DISABLED?: string;
}
