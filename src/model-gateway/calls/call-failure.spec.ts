import { connectionFailure } from './call-failure';

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
