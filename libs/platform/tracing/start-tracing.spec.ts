import { isTraced, startTracing, tracing } from './start-tracing';
import { UNTRACED } from './tracing';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

describe('a process', () => {
  it.each([
    [ENDPOINT],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' }],
    [{ ...ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: '' }],
    [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'otlp', OTEL_SDK_DISABLED: 'false' }],
  ])('is traced with %j', (env) => {
    expect(isTraced(env)).toBe(true);
  });

  it.each([
    [{}],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }],
    [{ OTEL_TRACES_EXPORTER: 'otlp', OTEL_TRACES_SAMPLER: 'always_on' }],
    [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }],
    [{ ...ENDPOINT, OTEL_SDK_DISABLED: 'true' }],
    [{ ...ENDPOINT, OTEL_SDK_DISABLED: 'True' }],
  ])('is not traced with %j', async (env) => {
    expect(isTraced(env)).toBe(false);
    startTracing('api', env);
    expect(tracing()).toBe(UNTRACED);
    expect(tracing().traceId()).toBeUndefined();
    expect(tracing().traceparent()).toBeUndefined();
    const job = { kind: 'part', id: '1', traceparent: undefined };
    await expect(tracing().job(job, () => Promise.resolve('done'))).resolves.toBe('done');
    await tracing().stop(1);
  });
});
