import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { type ApiClient, sharedApp, newOrganization } from '#testing';

const run = promisify(execFile);

const EXPORTERS = [
  ['protobuf', 'proto', 'none'],
  ['protobuf, gzip', 'proto', 'gzip'],
  ['JSON', 'http', 'none'],
  ['JSON, gzip', 'http', 'gzip'],
] as const;

const SOURCE = {
  service_name: 'shop',
  resource: expect.objectContaining({ attributes: expect.objectContaining({ 'service.name': 'shop' }) }),
  scope: expect.objectContaining({ name: 'agent', version: '1.2.3' }),
};

describe('the official OpenTelemetry exporters of logs and metrics, unchanged', () => {
  const app = sharedApp();

  /** Runs an instrumented program. @returns a client that can read the exported records */
  async function record(kind: string, compression?: string): Promise<ApiClient> {
    const organization = await newOrganization(app);
    const token = await organization.token('runtime');
    const headers = { Authorization: `Bearer ${token}`, 'X-Service-Workspace-Id': organization.workspaceId };
    const program = path.join(__dirname, 'signal-exporter.child.js');
    const configOf = (signal: string) => ({
      url: `${app.url}/telemetry/v1/${signal}`,
      headers,
      compression,
    });
    const configs = { logs: configOf('logs'), metrics: configOf('metrics') };
    await run(process.execPath, [program, kind, compression === undefined ? '' : JSON.stringify(configs)], {
      env: {
        ...process.env,
        OTEL_EXPORTER_OTLP_ENDPOINT: `${app.url}/telemetry`,
        OTEL_EXPORTER_OTLP_HEADERS: Object.entries(headers)
          .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
          .join(','),
      },
    });
    return organization.as('viewer');
  }

  const logsOf = async (reader: ApiClient): Promise<any[]> =>
    (await reader.get('/telemetry/v1/logs?sort=logged_at')).body.items;
  const pointsOf = async (reader: ApiClient): Promise<Map<string, any>> => {
    const { items } = (await reader.get('/telemetry/v1/metrics')).body;
    return new Map(items.map((item: any) => [item.name, item]));
  };

  it.each(EXPORTERS)('deliver complete logs and metrics: %s', async (_, kind, compression) => {
    const reader = await record(kind, compression);
    expect(await logsOf(reader)).toEqual([
      {
        ...SOURCE,
        logged_at: '2026-11-20T00:00:00.000Z',
        occurred_at: '2026-11-20T00:00:00.000Z',
        observed_at: '2026-11-20T00:00:00.005Z',
        severity_number: 17,
        severity: 'error',
        severity_text: 'ERROR',
        event_name: 'tool.failed',
        body: { text: 'no such city', tries: 3 },
        attributes: { 'tool.name': 'weather' },
        trace_id: '0af7651916cd43dd8448eb211c80319c',
        span_id: 'b7ad6b7169203331',
        flags: 1,
      },
      expect.objectContaining({ body: 'done', severity: 'info', trace_id: null, span_id: null }),
    ]);
    const points = await pointsOf(reader);
    expect([...points.keys()].sort()).toEqual(['calls', 'duration', 'temperature']);
    const times = { measured_at: expect.any(String), started_at: expect.any(String) };
    const none = { exemplars: [], metadata: {}, flags: 0 };
    expect(points.get('calls')).toEqual({
      ...SOURCE,
      ...times,
      ...none,
      name: 'calls',
      description: null,
      unit: '{call}',
      type: 'sum',
      temporality: 'cumulative',
      is_monotonic: true,
      value: 3,
      attributes: { model: 'gpt-4o' },
    });
    expect(points.get('duration')).toMatchObject({
      type: 'histogram',
      value: { count: 1, sum: 2, min: 2, max: 2, bucket_counts: [0, 1, 0], explicit_bounds: [1, 5] },
    });
    expect(points.get('temperature')).toMatchObject({ type: 'gauge', temporality: null, value: 21.5 });
  });

  it('need only OTEL_EXPORTER_OTLP_ENDPOINT to find the service', async () => {
    const reader = await record('proto');
    expect(await logsOf(reader)).toHaveLength(2);
    expect((await pointsOf(reader)).size).toBe(3);
  });
});
