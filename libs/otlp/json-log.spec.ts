import { decodeLogsRequest } from './decode.fixture';
import type { OtlpLogRecord } from './index';
import { decodeErrorOf } from './request.fixture';

const IDS = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };

const decode = (body: unknown) =>
  decodeLogsRequest(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), 'json');
const request = (...logRecords: unknown[]) => ({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
function decodeRecord(fields: object): OtlpLogRecord {
  const { logRecords, rejected } = decode(request(fields));
  expect(rejected).toEqual({ count: 0, reasons: [] });
  return logRecords[0] as OtlpLogRecord;
}

describe('a JSON logs request', () => {
  it.each([
    ['no members', {}],
    ['null', { resourceLogs: null }],
    ['nothing in it', { resourceLogs: [{}, { scopeLogs: null }, { scopeLogs: [{ logRecords: null }] }] }],
  ])('may have no records: %s', (_, body) => {
    expect(decode(body)).toMatchObject({ logRecords: [], rejected: { count: 0, reasons: [] } });
  });

  it.each([
    ['{"resourceLogs":[', /not valid JSON/],
    ['[]', /not an ExportLogsServiceRequest: the request must be an object/],
    ['{"resourceLogs":{}}', /resourceLogs must be a list/],
    ['{"resourceLogs":[{"scopeLogs":["x"]}]}', /scopeLogs must be an object/],
    ['{"resourceLogs":[{"scopeLogs":[{"logRecords":"x"}]}]}', /logRecords must be a list/],
  ])('is rejected as a whole if a part that records share is malformed: %s', (body, detail) => {
    expect(decodeErrorOf(() => decode(body))).toMatch(detail);
  });

  it('accepts the original names of protobuf instead of lowerCamelCase', () => {
    const record = {
      time_unix_nano: '1',
      observed_time_unix_nano: 2,
      severity_number: 9,
      severity_text: 'Information',
      event_name: 'start',
      body: { string_value: 'text' },
      dropped_attributes_count: 3,
      trace_id: IDS.traceId,
      span_id: IDS.spanId,
    };
    const body = { resource_logs: [{ scope_logs: [{ log_records: [record] }] }] };
    expect(decode(body).logRecords).toEqual([
      {
        ...IDS,
        timeUnixNano: 1n,
        observedTimeUnixNano: 2n,
        severityNumber: 9,
        severityText: 'Information',
        eventName: 'start',
        body: 'text',
        attributes: {},
        droppedAttributesCount: 3,
        flags: 0,
        resource: { attributes: {}, droppedAttributesCount: 0, schemaUrl: '' },
        scope: { name: '', version: '', attributes: {}, droppedAttributesCount: 0, schemaUrl: '' },
      },
    ]);
  });
});

describe('a log record in JSON', () => {
  it.each([
    [{}],
    [{ traceId: '', spanId: null }],
    [{ traceId: '0'.repeat(32), spanId: '0'.repeat(16) }],
    [{ traceId: IDS.traceId.slice(1), spanId: `${IDS.spanId}00` }],
    [{ traceId: IDS.traceId.replace('a', 'g'), spanId: 'x' }],
  ])('is kept with the ids %j, and belongs to no trace', (ids) => {
    expect(decodeRecord(ids)).toMatchObject({ traceId: null, spanId: null });
  });

  it.each([
    [0, 0],
    [17, 17],
    ['SEVERITY_NUMBER_ERROR', 17],
    ['SEVERITY_NUMBER_FATAL4', 24],
    ['SEVERITY_NUMBER_UNSPECIFIED', 0],
    ['ERROR', 17],
    ['warn', 13],
    ['13', 13],
    ['LATER', 0],
    [25, 0],
    [null, 0],
  ])('accepts the severity %j by number and by name', (sent, stored) => {
    expect(decodeRecord({ severityNumber: sent }).severityNumber).toBe(stored);
  });

  it.each([
    [0, 0n],
    ['1700000000123456789', 1_700_000_000_123_456_789n],
    ['18446744073709551615', 2n ** 64n - 1n],
  ])('accepts the time %j', (time, nanoseconds) => {
    expect(decodeRecord({ timeUnixNano: time, observedTimeUnixNano: time })).toMatchObject({
      timeUnixNano: nanoseconds,
      observedTimeUnixNano: nanoseconds,
    });
  });

  it.each([
    [{ stringValue: 'text' }, 'text'],
    [{ intValue: '9007199254740993' }, '9007199254740993'],
    [{ kvlistValue: { values: [{ key: '__proto__', value: { intValue: 1 } }] } }, '{"__proto__":1}'],
    [{}, null],
    [null, null],
  ])('has the body %j', (body, expected) => {
    const decoded = decodeRecord({ body }).body;
    expect(typeof decoded === 'object' && decoded !== null ? JSON.stringify(decoded) : decoded).toBe(
      expected,
    );
  });

  it.each([
    [{ traceId: 1 }, 'traceId must be a string'],
    [{ body: 'text' }, 'value must be an object'],
    [{ body: { intValue: 1.5 } }, 'intValue must be'],
    [{ severityNumber: [] }, 'severityNumber must be a number or a name'],
    [{ severityText: 1 }, 'severityText must be a string'],
    [{ timeUnixNano: -1 }, 'timeUnixNano must be'],
    [{ attributes: {} }, 'attributes must be a list'],
    [{ flags: -1 }, 'flags must be an integer'],
    [null, 'a log record must be an object'],
  ])('is omitted if it is %j, without affecting the others', (record, reason) => {
    const { logRecords, rejected } = decode(request({}, record, {}));
    expect([logRecords.length, rejected.count]).toEqual([2, 1]);
    expect(rejected.reasons).toEqual([expect.stringContaining(reason)]);
    expect(rejected.reasons).toEqual([expect.stringContaining('(the log record at index 1).')]);
  });
});
