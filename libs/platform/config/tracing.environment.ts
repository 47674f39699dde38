import { IsIn, IsNumberString, IsOptional, IsString, IsUrl } from 'class-validator';

const Address = (): PropertyDecorator =>
  IsUrl({ require_tld: false, protocols: ['http', 'https'], require_protocol: true });
const Protocol = (): PropertyDecorator => IsIn(['http/protobuf', 'http/json']);

/**
 * What decides over the service's own traces: variables of OpenTelemetry, which its SDK reads by itself before all
 * others. They are members here so that one that does not hold stops the start, rather than traces being lost.
 */
export abstract class TracingEnvironment {
  /** Where traces are sent: the base of an OTLP/HTTP endpoint, `/v1/traces` is added. Absent: nothing is traced. */
  @IsOptional()
  @Address()
  OTEL_EXPORTER_OTLP_ENDPOINT?: string;

  /** The same, as the whole address. */
  @IsOptional()
  @Address()
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string;

  /** `http/protobuf` or `http/json`. */
  @IsOptional()
  @Protocol()
  OTEL_EXPORTER_OTLP_PROTOCOL?: string;

  /** The same, for traces alone. */
  @IsOptional()
  @Protocol()
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL?: string;

  /** Headers of each request to the endpoint: `name=value,name=value`, values percent-encoded. */
  @IsOptional()
  @IsString()
  OTEL_EXPORTER_OTLP_HEADERS?: string;

  /** `gzip` or `none`. */
  @IsOptional()
  @IsIn(['gzip', 'none'])
  OTEL_EXPORTER_OTLP_COMPRESSION?: string;

  /** `service.name` of what is sent. */
  @IsOptional()
  @IsString()
  OTEL_SERVICE_NAME?: string;

  /** Further attributes of the resource: `key=value,key=value`, percent-encoded. */
  @IsOptional()
  @IsString()
  OTEL_RESOURCE_ATTRIBUTES?: string;

  /** Which traces are kept. */
  @IsOptional()
  @IsIn([
    'always_on',
    'always_off',
    'traceidratio',
    'parentbased_always_on',
    'parentbased_always_off',
    'parentbased_traceidratio',
  ])
  OTEL_TRACES_SAMPLER?: string;

  /** The share that `traceidratio` keeps, from 0 to 1. */
  @IsOptional()
  @IsNumberString()
  OTEL_TRACES_SAMPLER_ARG?: string;

  /** `none` turns traces off. */
  @IsOptional()
  @IsIn(['otlp', 'none'])
  OTEL_TRACES_EXPORTER?: string;

  /** `true` turns traces off. */
  @IsOptional()
  @IsString()
  OTEL_SDK_DISABLED?: string;
}
