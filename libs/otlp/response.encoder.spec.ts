import protobuf from 'protobufjs';
import { encodeExportResponse, encodeStatus } from './index';

/** From googleapis: google/rpc/status.proto, google/rpc/error_details.proto, google/protobuf/any.proto. */
const types = protobuf.parse(`
  syntax = "proto3";
  message Any { string type_url = 1; bytes value = 2; }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
  message ErrorInfo { string reason = 1; string domain = 2; map<string, string> metadata = 3; }
  message BadRequest {
    message FieldViolation { string field = 1; string description = 2; }
    repeated FieldViolation field_violations = 1;
  }
`).root;

interface Status {
  code: number;
  message: string;
  details: { typeUrl: string; value: Uint8Array }[];
}

function decodedStatus(httpStatus: number) {
  const detail = 'Grüße: the body is cut off';
  const bytes = encodeStatus({ status: httpStatus, detail, code: 'invalid_request' });
  const status = types.lookupType('Status').decode(bytes) as unknown as Status;
  const details = status.details.map(({ typeUrl, value }) => {
    const [, name] = /^type\.googleapis\.com\/google\.rpc\.(\w+)$/.exec(typeUrl) ?? [];
    const type = types.lookupType(name as string);
    return { name, ...type.toObject(type.decode(value)) };
  });
  return { code: status.code, message: status.message, details };
}

describe('the response to an export', () => {
  const bad = (count: number) => ({ count, reasons: ['bad'] });

  it('is empty if everything was stored', () => {
    for (const signal of ['traces', 'logs', 'metrics'] as const) {
      const all = { count: 0, reasons: [] };
      expect(encodeExportResponse('protobuf', signal, all)).toEqual(Buffer.alloc(0));
      expect(encodeExportResponse('json', signal, all).toString()).toBe('{}');
    }
  });

  it('writes 64-bit integers as JSON strings, and all reasons', () => {
    const rejection = { count: 3, reasons: ['no trace id.', 'no span id.'] };
    expect(encodeExportResponse('json', 'traces', rejection).toString()).toBe(
      '{"partialSuccess":{"rejectedSpans":"3","errorMessage":"no trace id. no span id."}}',
    );
  });

  it('names the rejected items by their signal in JSON', () => {
    expect(encodeExportResponse('json', 'logs', bad(2)).toString()).toBe(
      '{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"bad"}}',
    );
    expect(encodeExportResponse('json', 'metrics', bad(4)).toString()).toBe(
      '{"partialSuccess":{"rejectedDataPoints":"4","errorMessage":"bad"}}',
    );
    expect(encodeExportResponse('protobuf', 'logs', bad(2)).toString('hex')).toBe('0a0708021203626164');
    expect(encodeExportResponse('protobuf', 'metrics', bad(4)).toString('hex')).toBe('0a0708041203626164');
  });

  it('can warn without rejecting anything', () => {
    expect(encodeExportResponse('protobuf', 'traces', bad(0)).toString('hex')).toBe('0a0708001203626164');
    expect(encodeExportResponse('json', 'traces', bad(0)).toString()).toBe(
      '{"partialSuccess":{"rejectedSpans":"0","errorMessage":"bad"}}',
    );
  });
});

describe('the response to a failed protobuf request', () => {
  it('is a google.rpc.Status with the problem code', () => {
    expect(decodedStatus(503)).toEqual({
      code: 14,
      message: 'Grüße: the body is cut off',
      details: [{ name: 'ErrorInfo', reason: 'invalid_request', domain: 'agent-registry-service' }],
    });
  });

  it('describes the fault of invalid data', () => {
    expect(decodedStatus(400).details).toEqual([
      { name: 'ErrorInfo', reason: 'invalid_request', domain: 'agent-registry-service' },
      { name: 'BadRequest', fieldViolations: [{ description: 'Grüße: the body is cut off' }] },
    ]);
  });

  it.each([
    [400, 3],
    [401, 16],
    [403, 7],
    [429, 8],
    [500, 13],
    [503, 14],
    [418, 2],
  ])('maps HTTP %i to the code %i', (httpStatus, code) => {
    expect(decodedStatus(httpStatus).code).toBe(code);
  });
});
