import fc from 'fast-check';
import { setImmediate as turn } from 'node:timers/promises';
import { bytes, message } from '../testing/otlp-bytes';
import { decodeLogsRequest, decodeMetricsRequest, decodeTraceRequest } from './decode.fixture';
import { DEFAULT_LIMITS, MAX_ELEMENTS, MAX_RECORD_VALUES } from './element.counter';
import { type OtlpEncoding, type OtlpLimits, REQUEST_DECODERS } from './index';
import { attributes, encodersOf, decodeErrorOf, requests } from './request.fixture';

const LIMITS: OtlpLimits = { attributes: 3, events: 2, links: 1 };
const IDS = { traceId: '01'.repeat(16), spanId: '02'.repeat(8) };

const ENCODERS = {
  traces: encodersOf(`
    message Request { repeated ResourceSpans resource_spans = 1; }
    message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
    message ScopeSpans { Scope scope = 1; repeated Span spans = 2; string schema_url = 3; }
    message Span {
      bytes trace_id = 1; bytes span_id = 2; string name = 5; fixed64 start_time_unix_nano = 7;
      repeated KeyValue attributes = 9; uint32 dropped_attributes_count = 10;
      repeated Event events = 11; uint32 dropped_events_count = 12;
      repeated Link links = 13; uint32 dropped_links_count = 14;
    }
    message Event { string name = 2; repeated KeyValue attributes = 3; uint32 dropped_attributes_count = 4; }
    message Link { bytes trace_id = 1; repeated KeyValue attributes = 4; uint32 dropped_attributes_count = 5; }`),
  logs: encodersOf(`
    message Request { repeated ResourceLogs resource_logs = 1; }
    message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; string schema_url = 3; }
    message ScopeLogs { Scope scope = 1; repeated LogRecord log_records = 2; string schema_url = 3; }
    message LogRecord { AnyValue body = 5; repeated KeyValue attributes = 6; uint32 dropped_attributes_count = 7; }`),
  metrics: encodersOf(`
    message Request { repeated ResourceMetrics resource_metrics = 1; }
    message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; string schema_url = 3; }
    message ScopeMetrics { Scope scope = 1; repeated Metric metrics = 2; string schema_url = 3; }
    message Metric { string name = 1; Gauge gauge = 5; repeated KeyValue metadata = 12; }
    message Gauge { repeated Point data_points = 1; }
    message Point { double as_double = 4; repeated Exemplar exemplars = 5; repeated KeyValue attributes = 7; }
    message Exemplar { double as_double = 3; repeated KeyValue filtered_attributes = 7; }`),
};

/** Attributes `k0`, `k1`, …, each 1. */
const keys = (count: number): object[] =>
  Array.from({ length: count }, (_, index) => ({ key: `k${index}`, value: { intValue: '1' } }));

const spansOf = (...spans: object[]) => ({ resourceSpans: [{ scopeSpans: [{ spans }] }] });

/** Requests with one span and this number of attributes. */
const LARGE_SPANS: Record<OtlpEncoding, (count: number) => Buffer> = {
  json: (count) => Buffer.from(JSON.stringify(spansOf({ ...IDS, attributes: keys(count) }))),
  protobuf: (count) => {
    const ids = [bytes(1, Buffer.from(IDS.traceId, 'hex')), bytes(2, Buffer.from(IDS.spanId, 'hex'))];
    const sent = Array.from({ length: count }, (_, index) => message(9, bytes(1, `k${index}`)));
    return message(1, message(2, message(2, ...ids, Buffer.concat(sent))));
  },
};

describe.each<OtlpEncoding>(['protobuf', 'json'])('the decoder of %s requests', (encoding) => {
  const traces = (request: object, limits = LIMITS) =>
    decodeTraceRequest(ENCODERS.traces[encoding](request), encoding, limits);

  it('keeps the first attributes, events and links of a span, and adds the others to the counts of the SDK', () => {
    const { spans, rejected } = traces(
      spansOf({
        ...IDS,
        name: 'large',
        attributes: keys(5),
        droppedAttributesCount: 10,
        events: [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
        droppedEventsCount: 20,
        links: [{}, {}, {}],
        droppedLinksCount: 30,
      }),
    );
    expect(spans).toEqual([
      expect.objectContaining({
        name: 'large',
        attributes: { k0: 1, k1: 1, k2: 1 },
        droppedAttributesCount: 12,
        events: [expect.objectContaining({ name: 'a' }), expect.objectContaining({ name: 'b' })],
        droppedEventsCount: 21,
        links: [expect.objectContaining({ traceId: null })],
        droppedLinksCount: 32,
      }),
    ]);
    expect(rejected).toEqual({
      count: 0,
      reasons: [
        expect.stringMatching(/^Dropped attributes: 2 \(.* at most 3, /),
        'Dropped events: 1 (each span keeps at most 2).',
        'Dropped links: 2 (each span keeps at most 1).',
      ],
    });
  });

  it('drops nothing at exactly the limits', () => {
    const { spans, rejected } = traces(
      spansOf({ ...IDS, attributes: keys(3), events: [{}, {}], links: [{}] }),
    );
    expect(spans[0]).toMatchObject({
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    });
    expect(rejected).toEqual({ count: 0, reasons: [] });
  });

  it('limits the attributes of events, links, resources and scopes', () => {
    const { spans } = traces({
      resourceSpans: [
        {
          resource: { attributes: keys(4), droppedAttributesCount: 1 },
          scopeSpans: [
            {
              scope: { attributes: keys(5) },
              spans: [{ ...IDS, events: [{ attributes: keys(6) }], links: [{ attributes: keys(7) }] }],
            },
          ],
        },
      ],
    });
    const three = { k0: 1, k1: 1, k2: 1 };
    expect(spans[0]).toMatchObject({
      resource: { attributes: three, droppedAttributesCount: 2 },
      scope: { attributes: three, droppedAttributesCount: 2 },
      events: [{ attributes: three, droppedAttributesCount: 3 }],
      links: [{ attributes: three, droppedAttributesCount: 4 }],
      droppedAttributesCount: 0,
    });
  });

  it('limits the attributes of log records, data points and exemplars, and counts those that it drops from log records', () => {
    const logs = decodeLogsRequest(
      ENCODERS.logs[encoding]({
        resourceLogs: [{ scopeLogs: [{ logRecords: [{ attributes: keys(5), droppedAttributesCount: 1 }] }] }],
      }),
      encoding,
      LIMITS,
    );
    expect(logs.logRecords).toEqual([
      expect.objectContaining({ attributes: { k0: 1, k1: 1, k2: 1 }, droppedAttributesCount: 3 }),
    ]);
    const point = {
      asDouble: 1,
      attributes: keys(4),
      exemplars: [{ asDouble: 1, filteredAttributes: keys(5) }],
    };
    const metrics = decodeMetricsRequest(
      ENCODERS.metrics[encoding]({
        resourceMetrics: [
          { scopeMetrics: [{ metrics: [{ name: 'm', gauge: { dataPoints: [point] }, metadata: keys(6) }] }] },
        ],
      }),
      encoding,
      LIMITS,
    );
    const three = { k0: 1, k1: 1, k2: 1 };
    expect(metrics.dataPoints).toEqual([
      expect.objectContaining({
        attributes: three,
        exemplars: [expect.objectContaining({ attributes: three })],
        metric: expect.objectContaining({ metadata: three }),
      }),
    ]);
    expect(metrics.rejected).toEqual({
      count: 0,
      reasons: [expect.stringMatching(/^Dropped attributes: 6 /)],
    });
  });

  it.each(['arrayValue', 'kvlistValue'])('drops values nested in %s beyond the limit of a record', (kind) => {
    const one = kind === 'arrayValue' ? { intValue: '1' } : { key: 'k', value: { intValue: '1' } };
    const values = Array.from({ length: MAX_RECORD_VALUES + 5 }, (_, index) => ({
      ...one,
      ...('key' in one && { key: `k${index}` }),
    }));
    const attribute = { key: 'a', value: { [kind]: { values } } };
    const nested = traces(spansOf({ ...IDS, attributes: [attribute] }), DEFAULT_LIMITS);
    expect(Object.keys(nested.spans[0]!.attributes.a as object)).toHaveLength(MAX_RECORD_VALUES - 1);
    expect(nested.spans[0]!.droppedAttributesCount).toBe(6);
    // events and links share the limit of their span, and the next span has its own
    const events = [{ attributes: [attribute] }, { attributes: keys(2) }];
    const { spans } = traces(spansOf({ ...IDS, events }, { ...IDS, attributes: keys(2) }), DEFAULT_LIMITS);
    expect(spans[0]!.events[1]).toMatchObject({ attributes: {}, droppedAttributesCount: 2 });
    expect(spans[1]!.attributes).toEqual({ k0: 1, k1: 1 });
  });

  it('keeps 4,096 attributes of a span with many more', () => {
    const count = 20_000;
    const { spans, rejected } = decodeTraceRequest(LARGE_SPANS[encoding](count), encoding);
    expect(Object.keys(spans[0]!.attributes)).toHaveLength(4_096);
    expect(spans[0]!.droppedAttributesCount).toBe(count - 4_096);
    expect(rejected).toEqual({ count: 0, reasons: [expect.stringMatching(/^Dropped attributes: \d+ /)] });
  });

  it('rejects a request with too many elements, even if they would be dropped', () => {
    const hostile =
      encoding === 'json'
        ? Buffer.from(`[${'{},'.repeat(MAX_ELEMENTS / 2)}{}]`)
        : Buffer.alloc(2 * (MAX_ELEMENTS + 1), Buffer.from([0x78, 0]));
    expect(decodeErrorOf(() => decodeTraceRequest(hostile, encoding))).toMatch(
      /more than 2097152 attributes, nested values and unknown fields/,
    );
  });
});

const textOf = (request: object): string =>
  JSON.stringify(request, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));

describe('a request that a worker thread decodes', () => {
  const span = fc.record({
    name: fc.string(),
    attributes,
    startTimeUnixNano: fc.bigInt(0n, 2n ** 64n - 1n).map(String),
  });

  it('equals one that is decoded in a single step, and shares its resources and scopes', () => {
    const request = requests(
      ['resourceSpans', 'scopeSpans', 'spans'],
      span.map((one) => ({ ...one, ...IDS })),
    );
    fc.assert(
      fc.property(request, (sent) => {
        const body = ENCODERS.traces.json(sent);
        const { traces } = REQUEST_DECODERS;
        const expected = decodeTraceRequest(body, 'json');
        const steps = traces.unpack(traces.pack(body, DEFAULT_LIMITS));
        let step = steps.next();
        while (!step.done) step = steps.next();
        expect(textOf(step.value)).toBe(textOf(expected));
        const count = (spans: { scope: object }[]): number => new Set(spans.map(({ scope }) => scope)).size;
        expect(count(step.value.spans)).toBe(count(expected.spans));
      }),
      { numRuns: 20 },
    );
  });
});

describe('decoding in steps', () => {
  it('pauses within a request, so that other work gets a turn', async () => {
    const body = ENCODERS.traces.protobuf(
      spansOf(...Array.from({ length: 2_000 }, () => ({ ...IDS, attributes: keys(20) }))),
    );
    const steps = REQUEST_DECODERS.traces.steps(body, 'protobuf', DEFAULT_LIMITS);
    let pauses = 0;
    let step = steps.next();
    for (; !step.done; step = steps.next()) {
      pauses += 1;
      await turn();
    }
    expect(pauses).toBeGreaterThan(5);
    expect(step.value.spans).toHaveLength(2_000);
  });
});
