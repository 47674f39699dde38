import { decodeTraceRequest } from './decode.fixture';
import { OtlpDecodeError, type OtlpSpan } from './index';

/** A text with too many digits for a number. */
const LONG = 1_234_567_890_123_456;

const IDS = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };

const decode = (body: unknown) =>
  decodeTraceRequest(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), 'json');
const request = (...spans: unknown[]) => ({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
function decodeSpan(fields: object): OtlpSpan {
  const { spans, rejected } = decode(request({ ...IDS, ...fields }));
  expect(rejected).toEqual({ count: 0, reasons: [] });
  return spans[0] as OtlpSpan;
}
function reasonAgainst(span: unknown): string {
  const { spans, rejected } = decode(request(IDS, span, IDS));
  expect([spans.length, rejected.count]).toEqual([2, 1]);
  return rejected.reasons[0] as string;
}
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

describe('a span in JSON', () => {
  it('accepts ids in upper case', () => {
    const upper = { traceId: IDS.traceId.toUpperCase(), spanId: IDS.spanId.toUpperCase() };
    expect(decodeSpan({ ...upper, parentSpanId: upper.spanId })).toMatchObject({
      ...IDS,
      parentSpanId: IDS.spanId,
    });
  });

  it.each([
    [{}, 'traceId'],
    [{ ...IDS, traceId: '' }, 'traceId'],
    [{ ...IDS, traceId: '0'.repeat(32) }, 'traceId'],
    [{ ...IDS, traceId: IDS.traceId.slice(1) }, 'traceId'],
    [{ ...IDS, traceId: `${IDS.traceId}00` }, 'traceId'],
    [{ ...IDS, traceId: IDS.traceId.replace('a', 'g') }, 'traceId'],
    [{ ...IDS, traceId: Buffer.from(IDS.traceId, 'hex').toString('base64') }, 'traceId'],
    [{ ...IDS, spanId: null }, 'spanId'],
    [{ ...IDS, spanId: '0'.repeat(16) }, 'spanId'],
    [{ ...IDS, spanId: IDS.traceId }, 'spanId'],
    [{ ...IDS, parentSpanId: 'abc' }, 'parentSpanId'],
    [{ ...IDS, traceId: 1 }, 'traceId must be a string'],
    [{ ...IDS, name: 1 }, 'name must be a string'],
    [{ ...IDS, spanId: LONG }, 'spanId must be a string'],
    [{ ...IDS, name: LONG }, 'name must be a string'],
    [{ ...IDS, events: LONG }, 'events must be a list'],
    [{ ...IDS, status: LONG }, 'status must be an object'],
    [{ ...IDS, flags: LONG }, 'flags must be an integer from 0'],
    [{ ...IDS, kind: [] }, 'kind must be a number or a name'],
    [{ ...IDS, flags: -1 }, 'flags must be an integer from 0'],
    [{ ...IDS, flags: 2 ** 32 }, 'flags must be an integer from 0'],
    [{ ...IDS, droppedEventsCount: 1.5 }, 'droppedEventsCount must be an integer from 0'],
    [{ ...IDS, startTimeUnixNano: -1 }, 'startTimeUnixNano must be an unsigned 64-bit integer'],
    [{ ...IDS, startTimeUnixNano: '18446744073709551616' }, 'startTimeUnixNano must be'],
    [{ ...IDS, endTimeUnixNano: 1.5 }, 'endTimeUnixNano must be'],
    [{ ...IDS, endTimeUnixNano: '2026-01-01T00:00:00Z' }, 'endTimeUnixNano must be'],
    [{ ...IDS, attributes: { a: 1 } }, 'attributes must be a list'],
    [{ ...IDS, attributes: [null] }, 'an attribute must be an object'],
    [{ ...IDS, events: [null] }, 'an event must be an object'],
    [{ ...IDS, events: [{ timeUnixNano: {} }] }, 'timeUnixNano must be'],
    [{ ...IDS, links: 'x' }, 'links must be a list'],
    [{ ...IDS, links: [[]] }, 'a link must be an object'],
    [{ ...IDS, status: 'ok' }, 'status must be an object'],
    [null, 'a span must be an object'],
    [[IDS], 'a span must be an object'],
  ])('is omitted if it is %j, without affecting the others', (span, reason) => {
    expect(reasonAgainst(span)).toContain(reason);
    expect(reasonAgainst(span)).toContain('(the span at index 1).');
  });

  it.each([
    [0, 0n],
    ['0', 0n],
    [1_700_000_000_000_000_000, 1_700_000_000_000_000_000n],
    ['1700000000123456789', 1_700_000_000_123_456_789n],
    ['9223372036854775807', 2n ** 63n - 1n],
    ['18446744073709551615', 2n ** 64n - 1n],
    [null, 0n],
  ])('accepts the time %j', (time, nanoseconds) => {
    expect(decodeSpan({ startTimeUnixNano: time, endTimeUnixNano: time })).toMatchObject({
      startTimeUnixNano: nanoseconds,
      endTimeUnixNano: nanoseconds,
    });
  });

  it.each([
    [{ kind: 2, status: { code: 1 } }, 'server', 'ok'],
    [{ kind: 'SPAN_KIND_CLIENT', status: { code: 'STATUS_CODE_ERROR' } }, 'client', 'error'],
    [{ kind: 99, status: { code: -1 } }, 'unspecified', 'unset'],
    [{ kind: LONG, status: { code: LONG } }, 'unspecified', 'unset'],
    [{ kind: 'CLIENT', status: { code: 'error' } }, 'client', 'error'],
    [{ kind: '4', status: { code: '1' } }, 'producer', 'ok'],
    [{ kind: '', status: { code: '-1' } }, 'unspecified', 'unset'],
    [{ kind: '0x3', status: { code: ' 2' } }, 'unspecified', 'unset'],
    [{ kind: 'CLISPAN_KIND_ENT', status: { code: '2' } }, 'unspecified', 'error'],
    [{ kind: 'SPAN_KIND_LATER', status: { code: 'LATER' } }, 'unspecified', 'unset'],
    [{ kind: null, status: null }, 'unspecified', 'unset'],
  ])('accepts enumerations by number and by name: %j', (fields, kind, code) => {
    expect(decodeSpan(fields)).toMatchObject({ kind, status: { code, message: '' } });
  });
});

describe('an attribute value in JSON', () => {
  const valueOf = (value: unknown) => decodeSpan({ attributes: [{ key: 'key', value }] }).attributes.key;

  it.each([
    [{ stringValue: 'text' }, 'text'],
    [{ stringValue: '' }, ''],
    [{ boolValue: false }, false],
    [{ intValue: 42 }, 42],
    [{ intValue: '42' }, 42],
    [{ intValue: '-0' }, 0],
    [{ intValue: '9007199254740991' }, 9007199254740991],
    [{ intValue: '9007199254740992' }, '9007199254740992'],
    [{ intValue: '-9223372036854775808' }, '-9223372036854775808'],
    [{ intValue: 2 ** 60 }, '1152921504606847000'],
    [{ doubleValue: 1.5 }, 1.5],
    [{ doubleValue: '-1.5e3' }, -1500],
    [{ doubleValue: 'NaN' }, 'NaN'],
    [{ doubleValue: '-Infinity' }, '-Infinity'],
    [{ bytesValue: 'AP8-' }, 'AP8+'],
    [{ bytesValue: 'eA' }, 'eA=='],
    [{ arrayValue: {} }, []],
    [{ arrayValue: { values: [{ intValue: 1 }, {}, { arrayValue: { values: null } }] } }, [1, null, []]],
    [{ kvlistValue: {} }, {}],
    [
      { kvlistValue: { values: [{ key: 'a', value: { stringValue: 'b' } }, { key: 'c' }] } },
      { a: 'b', c: null },
    ],
    [{ stringValue: null }, null],
    [{ stringValue: null, intValue: 1 }, 1],
    [{ laterValue: 1 }, null],
    [{}, null],
    [null, null],
  ])('is read from %j', (value, expected) => {
    expect(valueOf(value)).toEqual(expected);
  });

  it.each([
    [{ stringValue: 1 }, 'stringValue must be a string'],
    [{ intValue: 1.5 }, 'intValue must be a 64-bit integer'],
    [{ intValue: '9223372036854775808' }, 'intValue must be'],
    [{ intValue: '1e3' }, 'intValue must be'],
    [{ doubleValue: 'many' }, 'doubleValue must be'],
    [{ boolValue: 'true' }, 'boolValue must be'],
    [{ bytesValue: '*' }, 'bytesValue must be base64'],
    [{ arrayValue: [] }, 'arrayValue must be an object'],
    [{ kvlistValue: { values: {} } }, 'attributes must be a list'],
    ['text', 'value must be an object'],
    [{ stringValue: LONG }, 'stringValue must be a string'],
    [{ bytesValue: LONG }, 'bytesValue must be base64'],
    [{ boolValue: LONG }, 'boolValue must be'],
    [{ kvlistValue: LONG }, 'kvlistValue must be an object'],
    [LONG, 'value must be an object'],
  ])('invalidates its span, and no other, if it is %j', (value, reason) => {
    expect(reasonAgainst({ ...IDS, attributes: [{ key: 'key', value }] })).toContain(reason);
  });

  it.each([
    ['intValue', '9223372036854775807', '9223372036854775807'],
    ['intValue', '-9223372036854775808', '-9223372036854775808'],
    ['intValue', '9007199254740993', '9007199254740993'],
    ['intValue', '1000000000000000', 1_000_000_000_000_000],
    ['doubleValue', '9007199254740993', 9_007_199_254_740_992],
  ])('reads %s as an exact number: %s', (kind, digits, expected) => {
    const json = JSON.stringify(
      request({ ...IDS, attributes: [{ key: 'key', value: { [kind]: '@' } }], startTimeUnixNano: '#' }),
    );
    const body = json.replace('"@"', digits).replace('"#"', ' 1700000000000000123');
    expect(decode(body).spans[0]).toMatchObject({
      attributes: { key: expected },
      startTimeUnixNano: 1_700_000_000_000_000_123n,
    });
  });

  it.each(['intValue', 'doubleValue', 'startTimeUnixNano'])(
    'is read in linear time if %s has millions of digits',
    (field) => {
      const value = field === 'startTimeUnixNano' ? undefined : { [field]: '@' };
      const span = { ...IDS, attributes: [{ key: 'key', value }], startTimeUnixNano: value ? '1' : '@' };
      const { spans, rejected } = decode(JSON.stringify(request(span)).replace('"@"', '9'.repeat(8_000_000)));
      expect(spans[0]?.attributes ?? rejected.count).toEqual(
        field === 'doubleValue' ? { key: 'Infinity' } : 1,
      );
    },
  );

  it('rejects a text that is too long for a double', () => {
    expect(valueOf({ doubleValue: `0.${'0'.repeat(300)}1` })).toBe(1e-301);
    for (const text of ['1'.repeat(16_000_000), `1.${'1'.repeat(8_000_000)}`, `1e${'1'.repeat(8_000_000)}`]) {
      const span = { ...IDS, attributes: [{ key: 'key', value: { doubleValue: text } }] };
      expect(reasonAgainst(span)).toContain('doubleValue must be a number');
    }
  });

  it('replaces NUL characters and lone surrogates, which cannot be stored', () => {
    const name = (json: string) =>
      decode(JSON.stringify(request({ ...IDS, name: '@' })).replace('@', json)).spans[0]?.name;
    expect(name('a\\u0000b')).toBe('a\ufffdb');
    expect(name('a\\ud800b')).toBe('a\ufffdb');
    expect(name('a\\uDC00b')).toBe('a\ufffdb');
    expect(name('\\ud83c\\udf0d \\uD83C\\uDF0D')).toBe('🌍 🌍');
    expect(name('C:\\\\u0000')).toBe('C:\\u0000');
  });

  it('may be named __proto__', () => {
    const value = { kvlistValue: { values: [{ key: 'x', value: { intValue: 1 } }] } };
    const { attributes } = decodeSpan({ attributes: [{ key: '__proto__', value }] });
    expect(JSON.stringify(attributes)).toBe('{"__proto__":{"x":1}}');
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });

  it('may be nested up to 64 levels', () => {
    const nested = (levels: number, before: string, after: string) =>
      JSON.stringify(request({ ...IDS, attributes: [{ key: 'key', value: '@' }] })).replace(
        '"@"',
        `${before.repeat(levels)}{"intValue":1}${after.repeat(levels)}`,
      );
    for (const [before, after] of [
      ['{"arrayValue":{"values":[', ']}}'],
      ['{"kvlistValue":{"values":[{"key":"k","value":', '}]}}'],
    ] as const) {
      const [span] = decode(nested(64, before, after)).spans;
      expect(JSON.stringify(span?.attributes.key)).toMatch(/^([[{]("k":)?){64}1/);
      expect(detailOf(nested(65, before, after))).toMatch(/deeper than 64 levels/);
      expect(detailOf(nested(10_000, before, after))).toMatch(/deeper than 64 levels/);
    }
  });

  it('cannot be in a body of 10,000 nested lists, which is rejected', () => {
    expect(detailOf('['.repeat(10_000) + ']'.repeat(10_000))).toMatch(/must be an object/);
    expect(detailOf(`{"resourceSpans":${'['.repeat(10_000)}${']'.repeat(10_000)}}`)).toMatch(
      /must be an object/,
    );
  });
});
