import { createRequire } from 'node:module';
import type * as sdk from './open-telemetry.tracing';
import { type TracedRole, type Tracing, UNTRACED } from './tracing';

let current: Tracing = UNTRACED;

/** The traces of this process. */
export const tracing = (): Tracing => current;

/**
 * Whether traces are to be sent, by OpenTelemetry's own variables
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/): only where an endpoint is set,
 * though by the specification there is a default.
 */
export function isTraced(env: NodeJS.ProcessEnv): boolean {
  const isDisabled = env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true';
  const isLeftOut = env.OTEL_TRACES_EXPORTER?.trim() === 'none';
  const endpoints = [env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, env.OTEL_EXPORTER_OTLP_ENDPOINT];
  return !isDisabled && !isLeftOut && endpoints.some((endpoint) => endpoint?.trim());
}

/**
 * Begins to trace this process, where the environment says so. To be called before what is traced is loaded: modules
 * are patched as they are required. Nothing of OpenTelemetry is loaded where there is nothing to trace.
 */
export function startTracing(role: TracedRole, env: NodeJS.ProcessEnv = process.env): void {
  if (!isTraced(env)) return;
  const { OpenTelemetryTracing } = createRequire(__filename)('./open-telemetry.tracing') as typeof sdk;
  current = OpenTelemetryTracing.start(role, env);
}
