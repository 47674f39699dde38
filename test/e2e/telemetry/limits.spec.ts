import { type ApiClient, ownApp, newOrganization, newSpanId, newTraceId } from '#testing';
import { bytes, fixed64, keyValue, message, varint } from '../../../libs/testing/otlp-bytes';
import { answered, type ExportAnswer, JSON_MEDIA, RawExporter } from './otlp.harness';

const START = 1_795_132_800_000_000_000n;

/** A span to send, in either encoding. */
interface LargeSpan {
  traceId: string;
  spanId: string;
  attributes: number;
  events: number;
  links: number;
  padding?: string;
}

const newLargeSpan = (sizes: Partial<LargeSpan> = {}): LargeSpan => ({
  traceId: newTraceId(),
  spanId: newSpanId(),
  attributes: 0,
  events: 0,
  links: 0,
  ...sizes,
});

const indexes = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

const jsonBody = ({ traceId, spanId, attributes, events, links, padding = '' }: LargeSpan): Buffer =>
  Buffer.from(
    JSON.stringify({
      padding,
      resourceSpans: [
        {
          scopeSpans: [
            {
              spans: [
                {
                  traceId,
                  spanId,
                  name: 'large',
                  startTimeUnixNano: String(START),
                  attributes: indexes(attributes).map((index) => ({
                    key: `k${index}`,
                    value: { intValue: '1' },
                  })),
                  events: indexes(events).map((index) => ({ name: `e${index}` })),
                  links: indexes(links).map(() => ({ traceId, spanId })),
                  droppedAttributesCount: 1,
                },
              ],
            },
          ],
        },
      ],
    }),
  );

const protobufBody = ({ traceId, spanId, attributes, events, links, padding = '' }: LargeSpan): Buffer => {
  const ids = [bytes(1, Buffer.from(traceId, 'hex')), bytes(2, Buffer.from(spanId, 'hex'))];
  const fields = [
    ...ids,
    bytes(5, 'large'),
    fixed64(7, START),
    varint(10, 1),
    ...indexes(attributes).map((index) => message(9, ...keyValue(`k${index}`, varint(3, 1)))),
    ...indexes(events).map((index) => message(11, bytes(2, `e${index}`))),
    ...indexes(links).map(() => message(13, ...ids)),
  ];
  return Buffer.concat([message(1, message(2, message(2, Buffer.concat(fields)))), bytes(100, padding)]);
};

describe('the limits of telemetry', () => {
  const app = ownApp({
    env: { SPAN_ATTRIBUTE_LIMIT: '5', SPAN_EVENT_LIMIT: '3', SPAN_LINK_LIMIT: '2' },
  });
  let exporter: RawExporter;
  let client: ApiClient;

  beforeAll(async () => {
    const organization = await newOrganization(app);
    exporter = new RawExporter(app.url, await organization.token('runtime'), organization.workspaceId);
    client = await organization.as('viewer');
  });

  const partialSuccess = {
    protobuf: (answer: ExportAnswer) => answered.partialSuccess(answer),
    json: (answer: ExportAnswer) => {
      const { partialSuccess: partial } = answered.json(answer);
      return partial && { ...partial, rejectedSpans: Number(partial.rejectedSpans) };
    },
  };

  const send = {
    protobuf: (span: LargeSpan) => exporter.send(protobufBody(span)),
    json: (span: LargeSpan) => exporter.send(jsonBody(span), { media: JSON_MEDIA }),
  };

  const DROPPED = [
    'Dropped attributes: 7 (each span, event, link, resource, scope, log record, data point and exemplar keeps at most 5, and each span, log record, data point, resource and scope at most 65536 with nested values).',
    'Dropped events: 4 (each span keeps at most 3).',
    'Dropped links: 3 (each span keeps at most 2).',
  ].join(' ');

  describe.each(['protobuf', 'json'] as const)('in %s', (encoding) => {
    it.each([
      ['a small body', 0],
      ['a body that is decoded in a thread if it is JSON', 300 * 1024],
      ['a body that is stored alone', 1_200 * 1024],
    ])('drop and count the excess parts of a span, and keep the rest: %s', async (_, padding) => {
      const span = newLargeSpan({ attributes: 12, events: 7, links: 5, padding: 'x'.repeat(padding) });
      const answer = await send[encoding](span);
      expect(answer.status).toBe(200);
      expect(partialSuccess[encoding](answer)).toMatchObject({ errorMessage: DROPPED });
      expect(partialSuccess[encoding](answer)?.rejectedSpans ?? 0).toBe(0);
      const counts = { dropped_attributes_count: 8, dropped_events_count: 4, dropped_links_count: 3 };
      const { body: trace } = await client.get(`/telemetry/v1/traces/${span.traceId}`);
      expect(trace.spans).toEqual([expect.objectContaining({ name: 'large', ...counts })]);
      const { body: page } = await client.get(`/telemetry/v1/traces/${span.traceId}/spans`);
      expect(page.items).toEqual([expect.objectContaining(counts)]);
      expect(page.items[0].attributes).toEqual({ k0: 1, k1: 1, k2: 1, k3: 1, k4: 1 });
      expect(page.items[0].events.map(({ name }: { name: string }) => name)).toEqual(['e0', 'e1', 'e2']);
      expect(page.items[0].links).toHaveLength(2);
    });

    it('cause no warning for a span within them', async () => {
      const span = newLargeSpan({ attributes: 5, events: 3, links: 2 });
      const answer = await send[encoding](span);
      expect([answer.status, partialSuccess[encoding](answer)]).toEqual([200, undefined]);
      const { body: trace } = await client.get(`/telemetry/v1/traces/${span.traceId}`);
      expect(trace.spans[0]).toMatchObject({ dropped_attributes_count: 1, dropped_events_count: 0 });
    });
  });

  it('preserve the counts of a span that arrives for an existing trace', async () => {
    const first = newLargeSpan();
    await send.protobuf(first);
    const second = newLargeSpan({ traceId: first.traceId, attributes: 9 });
    expect((await send.json(second)).status).toBe(200);
    const { body: trace } = await client.get(`/telemetry/v1/traces/${first.traceId}`);
    expect(trace.spans).toContainEqual(
      expect.objectContaining({ span_id: second.spanId, dropped_attributes_count: 5 }),
    );
  });

  it('reject a large body that is not JSON or not OTLP with 400', async () => {
    const torn = jsonBody(newLargeSpan({ padding: 'x'.repeat(400 * 1024) })).subarray(0, -1);
    for (const body of [torn, Buffer.from(`[${'{},'.repeat(200_000)}{}]`)]) {
      const answer = await exporter.send(body, { media: JSON_MEDIA });
      expect([answer.status, answered.json(answer).code]).toEqual([400, 'invalid_request']);
    }
  });
});
