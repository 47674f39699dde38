import { connectionFailure } from './call-failure';
import { errorResponse } from './reported-failure';

describe('a request that fails without a response', () => {
  it.each([
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout', undefined],
    ['ECONNREFUSED', 'failed', undefined],
    ['ENOTFOUND', 'failed', undefined],
    ['UND_ERR_HEADERS_TIMEOUT', 'timeout', 0],
    ['UND_ERR_BODY_TIMEOUT', 'timeout', 0],
    ['ECONNRESET', 'failed', 0],
    ['UND_ERR_SOCKET', 'failed', 0],
  ])('has cost its prompt only if it was sent (%s)', (code, reason, bytes) => {
    const { reason: actual, details } = connectionFailure('p', Object.assign(new Error(), { code }));
    expect([actual, details.lost?.bytes]).toEqual([reason, bytes]);
  });
});

describe('an error response', () => {
  it.each([
    ['{"error":{"message":"too hot","param":"temperature","code":400}}', 'too hot'],
    ['[{"error":{"code":400,"message":"too hot","status":"INVALID_ARGUMENT"}}]\n', 'too hot'],
    ['{"error":"too hot"}', 'too hot'],
    ['{"object":"error","message":"too hot","type":"BadRequestError","code":400}', 'too hot'],
    [
      '{"detail":[{"loc":["body","temperature"],"msg":"too hot"},{"msg":"too cold"}]}',
      'body.temperature: too hot; too cold',
    ],
    ['{"type":"error","error":{"type":"invalid_request_error","message":"too hot"}}', 'too hot'],
    ['<html>Internal proxy 10.0.0.7</html>', ''],
    ['[[[]]]', ''],
  ])('passes on the message of %s', (text, message) => {
    const { reason, problem, details } = errorResponse({ name: 'p', apiKey: 'sk' }, 400, text, undefined);
    const detail = `The provider p rejected the request${message === '' ? '.' : `: ${message}`}`;
    expect([reason, problem.detail, details.reported?.message]).toEqual(['rejected', detail, message]);
  });
});
