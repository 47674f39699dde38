import { gzipSync } from 'node:zlib';
import { sharedApp, newOrganization } from '#testing';
import { answered, JSON_MEDIA, RawExporter } from './otlp.harness';

const text = (length: number) => ({
  attributes: [{ key: 'text', value: { stringValue: 'x'.repeat(length) } }],
});
const ids = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: '00f067aa0ba902b7' };
const many = <Item>(count: number, item: Item): Item[] => Array.from({ length: count }, () => item);

/** Exports of some thousand bytes of gzip that would take gigabytes if they were stored. */
const BOMBS: [path: string, content: string, body: object][] = [
  [
    'traces',
    'a resource with many scopes',
    { resourceSpans: [{ resource: text(1_000_000), scopeSpans: many(2_000, { spans: [ids] }) }] },
  ],
  [
    'logs',
    'a resource with many scopes',
    { resourceLogs: [{ resource: text(1_000_000), scopeLogs: many(2_000, { logRecords: [{}] }) }] },
  ],
  [
    'metrics',
    'a metric with a long description and many points',
    {
      resourceMetrics: [
        {
          scopeMetrics: [
            {
              metrics: [
                {
                  name: 'm',
                  description: 'x'.repeat(200_000),
                  gauge: { dataPoints: many(2_000, { asInt: 1 }) },
                },
              ],
            },
          ],
        },
      ],
    },
  ],
];

describe('an export with repeated resources', () => {
  const app = sharedApp();
  let exporter: RawExporter;

  beforeAll(async () => {
    const organization = await newOrganization(app);
    exporter = new RawExporter(app.url, await organization.token('runtime'), organization.workspaceId);
  });

  const send = (path: string, body: object) =>
    exporter.send(gzipSync(JSON.stringify(body)), {
      media: JSON_MEDIA,
      encoding: 'gzip',
      path: `/telemetry/v1/${path}`,
    });

  const countSources = async (): Promise<number> => {
    const [row] = await app.database.query<{ count: number }>('SELECT count(*) AS count FROM span_sources');
    return row!.count;
  };

  it.each(BOMBS)('is rejected before it grows to gigabytes: %s, %s', async (path, _content, body) => {
    const before = await countSources();
    const answer = await send(path, body);
    expect([answer.status, answered.json(answer)]).toMatchObject([
      400,
      { code: 'invalid_request', detail: expect.stringContaining('Send smaller batches') as string },
    ]);
    expect(await countSources()).toBe(before);
  });

  it('is accepted at the size of real exporters', async () => {
    const spans = many(100, 0).map((_zero, n) => ({
      ...ids,
      spanId: (n + 1).toString(16).padStart(16, '0'),
    }));
    const scopeSpans = spans.map((span, n) => ({ scope: { name: `library ${n}` }, spans: [span] }));
    expect((await send('traces', { resourceSpans: [{ resource: text(4_000), scopeSpans }] })).status).toBe(
      200,
    );
  });
});
