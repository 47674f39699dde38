import { createRequire } from 'node:module';
import type * as sdk from './open-telemetry.tracing';
import { type TracedRole, type Tracing, UNTRACED } from './tracing';

let current: Tracing = UNTRACED;

/** The traces of this process. */
export const tracing = (): Tracing => current;

/**
 * Tells whether to trace, according to OpenTelemetry's own variables
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/). Unlike in the specification, the
 * endpoint has no default: without one, nothing is traced.
 */
export function isTraced(env: NodeJS.ProcessEnv): boolean {
  const isDisabled = env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true';
  const isExporterOff = env.OTEL_TRACES_EXPORTER?.trim() === 'none';
  const endpoints = [env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, env.OTEL_EXPORTER_OTLP_ENDPOINT];
  return !isDisabled && !isExporterOff && endpoints.some((endpoint) => endpoint?.trim());
}

/**
 * Starts tracing this process if the environment configures it. Call it before traced modules are loaded, because they are
 * patched as they are loaded. Without tracing, OpenTelemetry is not loaded.
 */
export function startTracing(role: TracedRole, env: NodeJS.ProcessEnv = process.env): void {
  if (!isTraced(env)) return;
  const { OpenTelemetryTracing } = createRequire(__filename)('./open-telemetry.tracing') as typeof sdk;
  current = OpenTelemetryTracing.start(role, env);
}
