import { WaitTimeout } from '#platform/concurrency';
import { BlockedAddressError, outboundFailure, ResponseTooLargeError } from './outbound-errors';

const withCode = (code: string): Error => Object.assign(new Error(code), { code });
const wrapped = (cause: unknown): Error =>
  new TypeError('fetch failed', { cause: new Error('client', { cause }) });

describe('outboundFailure', () => {
  it.each<[string, Error]>([
    ['blocked_address', new BlockedAddressError('x')],
    ['too_large', new ResponseTooLargeError(1)],
    ['too_large', withCode('UND_ERR_HEADERS_OVERFLOW')],
    ['timeout', new DOMException('late', 'TimeoutError')],
    ['timeout', new WaitTimeout(1)],
    ['timeout', withCode('UND_ERR_CONNECT_TIMEOUT')],
    ['timeout', withCode('ETIMEDOUT')],
    ['tls', withCode('DEPTH_ZERO_SELF_SIGNED_CERT')],
    ['tls', withCode('CERT_HAS_EXPIRED')],
    ['tls', withCode('ERR_TLS_CERT_ALTNAME_INVALID')],
    ['tls', withCode('ERR_SSL_WRONG_VERSION_NUMBER')],
    ['tls', withCode('UNABLE_TO_VERIFY_LEAF_SIGNATURE')],
    ['tls', withCode('SELF_SIGNED_CERT_IN_CHAIN')],
    ['tls', withCode('EPROTO')],
    ['unreachable', withCode('ENOTFOUND')],
    ['unreachable', withCode('EAI_AGAIN')],
    ['unreachable', withCode('ECONNREFUSED')],
    ['unreachable', withCode('ECONNRESET')],
    ['unreachable', withCode('EHOSTUNREACH')],
    ['unreachable', withCode('UND_ERR_SOCKET')],
    ['unreachable', new AggregateError([withCode('ECONNREFUSED'), withCode('ETIMEDOUT')])],
    ['protocol', withCode('HPE_INVALID_CONSTANT')],
    ['protocol', withCode('Z_DATA_ERROR')],
  ])('recognizes %s through the errors of clients: %s', (failure, error) => {
    expect([outboundFailure(error), outboundFailure(wrapped(error))]).toEqual([failure, failure]);
  });

  it.each([
    ['the abort by a caller', new DOMException('left', 'AbortError')],
    ['an error of the program', new TypeError('x is not a function')],
    ['an unknown code', withCode('ERR_ASSERTION')],
    ['no error', undefined],
    ['a text', 'ECONNREFUSED'],
  ])('returns null for %s', (_, error) => {
    expect(outboundFailure(error)).toBeNull();
  });

  it('returns null for an error that is its own cause', () => {
    const error = new Error('loop');
    error.cause = error;
    expect(outboundFailure(error)).toBeNull();
  });
});
