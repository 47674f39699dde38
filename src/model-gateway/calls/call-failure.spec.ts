import { NO_USAGE } from '../formats/usage';
import { connectionFailure } from './call-failure';
import { errorResponse } from './reported-failure';

describe('a request that fails without a response', () => {
  it.each([
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout', undefined],
    ['ECONNREFUSED', 'failed', undefined],
    ['ENOTFOUND', 'failed', undefined],
    ['UND_ERR_HEADERS_TIMEOUT', 'timeout', NO_USAGE],
    ['UND_ERR_BODY_TIMEOUT', 'timeout', NO_USAGE],
    ['ECONNRESET', 'failed', NO_USAGE],
    ['UND_ERR_SOCKET', 'failed', NO_USAGE],
  ])('may be charged only if it was sent (%s)', (code, reason, lost) => {
    const { reason: actual, details } = connectionFailure('p', Object.assign(new Error(), { code }));
    expect([actual, details.lost]).toEqual([reason, lost]);
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
