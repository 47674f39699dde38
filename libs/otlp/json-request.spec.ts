import { decodeTraceRequest } from './decode.fixture';
import { OtlpDecodeError } from './index';
import { MAX_REASONS } from './record.collector';

const IDS = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };

const decode = (body: unknown) =>
  decodeTraceRequest(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), 'json');
const request = (...spans: unknown[]) => ({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
function detailOf(body: unknown): string {
  try {
    decode(body);
  } catch (error) {
    if (error instanceof OtlpDecodeError) {
      return error.detail;
    }
    throw error;
  }
  return 'nothing was thrown';
}

describe('a JSON trace request', () => {
  it.each([
    ['no members', {}],
    ['null', { resourceSpans: null }],
    ['an empty list', { resourceSpans: [] }],
    ['nothing in it', { resourceSpans: [{}, { scopeSpans: null }, { scopeSpans: [{ spans: null }] }] }],
  ])('may have no spans: %s', (_, body) => {
    expect(decode(body)).toMatchObject({ spans: [], rejected: { count: 0, reasons: [] } });
  });

  it.each([
    ['', /not valid JSON/],
    ['{"resourceSpans":[', /not valid JSON/],
    ['\u{1F4A5}secret', /^The body is not valid JSON( \(at position \d+\))?\.$/],
    ['[]', /the request must be an object/],
    ['null', /the request must be an object/],
    ['"spans"', /the request must be an object/],
    ['{"resourceSpans":{}}', /resourceSpans must be a list/],
    ['{"resourceSpans":[null]}', /resourceSpans must be an object/],
    ['{"resourceSpans":[{"resource":[]}]}', /resource must be an object/],
    ['{"resourceSpans":[{"resource":{"attributes":{}}}]}', /attributes must be a list/],
    ['{"resourceSpans":[{"resource":{"attributes":[{"key":1}]}}]}', /key must be a string/],
    ['{"resourceSpans":[{"schemaUrl":1}]}', /schemaUrl must be a string/],
    ['{"resourceSpans":[{"scopeSpans":1}]}', /scopeSpans must be a list/],
    ['{"resourceSpans":[{"scopeSpans":["x"]}]}', /scopeSpans must be an object/],
    ['{"resourceSpans":[{"scopeSpans":[{"scope":{"name":1}}]}]}', /name must be a string/],
    ['{"resourceSpans":[{"scopeSpans":[{"spans":"x"}]}]}', /spans must be a list/],
  ])('is rejected as a whole if a part that spans share is malformed: %s', (body, detail) => {
    expect(detailOf(body)).toMatch(detail);
    expect(detailOf(body)).not.toContain('secret');
  });

  it('ignores unknown members, which later versions may add', () => {
    const expected = request({ ...IDS, name: 'n' });
    const more = { unknown: { deep: [1] }, entityRefs: [] };
    const body = {
      ...more,
      resourceSpans: [
        {
          ...more,
          resource: { ...more },
          scopeSpans: [{ ...more, scope: more, spans: [{ ...more, ...IDS, name: 'n', status: more }] }],
        },
      ],
    };
    expect(decode(body)).toEqual(decode(expected));
  });

  it('accepts the original names of protobuf instead of lowerCamelCase', () => {
    const attributes = [
      { key: 'a', value: { string_value: 's' } },
      { key: 'b', value: { int_value: '1' } },
      { key: 'c', value: { bool_value: true } },
      { key: 'd', value: { double_value: 0.5 } },
      { key: 'e', value: { array_value: { values: [{ bytes_value: 'AA==' }] } } },
      { key: 'f', value: { kvlist_value: { values: [{ key: 'g', value: { string_value: 'h' } }] } } },
    ];
    const ids = { trace_id: IDS.traceId, span_id: IDS.spanId };
    const body = {
      resource_spans: [
        {
          resource: { attributes, dropped_attributes_count: 1 },
          schema_url: 'r',
          scope_spans: [
            {
              schema_url: 's',
              spans: [
                {
                  ...ids,
                  trace_state: 't',
                  parent_span_id: IDS.spanId,
                  start_time_unix_nano: '1',
                  end_time_unix_nano: '2',
                  dropped_attributes_count: 3,
                  dropped_events_count: 4,
                  dropped_links_count: 5,
                  events: [{ time_unix_nano: '6', dropped_attributes_count: 7 }],
                  links: [{ ...ids, trace_state: 'u', dropped_attributes_count: 8 }],
                },
              ],
            },
          ],
        },
      ],
    };
    expect(decode(body).spans).toEqual([
      {
        ...IDS,
        parentSpanId: IDS.spanId,
        traceState: 't',
        flags: 0,
        name: '',
        kind: 'unspecified',
        startTimeUnixNano: 1n,
        endTimeUnixNano: 2n,
        status: { code: 'unset', message: '' },
        attributes: {},
        droppedAttributesCount: 3,
        events: [{ name: '', timeUnixNano: 6n, attributes: {}, droppedAttributesCount: 7 }],
        droppedEventsCount: 4,
        links: [{ ...IDS, traceState: 'u', flags: 0, attributes: {}, droppedAttributesCount: 8 }],
        droppedLinksCount: 5,
        resource: {
          attributes: { a: 's', b: 1, c: true, d: 0.5, e: ['AA=='], f: { g: 'h' } },
          droppedAttributesCount: 1,
          schemaUrl: 'r',
        },
        scope: { name: '', version: '', attributes: {}, droppedAttributesCount: 0, schemaUrl: 's' },
      },
    ]);
  });

  it('replaces bytes that are not UTF-8', () => {
    const body = Buffer.from(JSON.stringify(request({ ...IDS, name: 'a?b' })));
    body[body.indexOf('a?b') + 1] = 0xff;
    expect(decodeTraceRequest(body, 'json').spans[0]?.name).toBe('a\ufffdb');
  });

  it('reports a limited number of distinct faults, and counts the rest', () => {
    const faulty = [
      'name',
      'traceState',
      'traceId',
      'spanId',
      'parentSpanId',
      'flags',
      'status',
      'events',
      'links',
    ];
    const counts = ['droppedEventsCount', 'droppedLinksCount', 'droppedAttributesCount', 'attributes'];
    const spans = [...faulty, ...counts].map((field) => ({ ...IDS, [field]: true }));
    const { rejected } = decode(request(...spans));
    expect(rejected.count).toBe(spans.length);
    expect(rejected.reasons).toHaveLength(MAX_REASONS);
  });
});
