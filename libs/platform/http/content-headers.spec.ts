import { Problem } from '#platform/problem';
import { type ContentCoding, codingsOf } from './content-headers';

const BOTH: readonly ContentCoding[] = ['gzip', 'base64'];

describe('the Content-Encoding of a body', () => {
  it.each<[string | undefined, ContentCoding[]]>([
    [undefined, []],
    [' , identity', []],
    ['X-GZip, identity', ['gzip']],
    ['gzip,Base64', ['gzip', 'base64']],
    ['identity, base64 , , GZIP', ['base64', 'gzip']],
  ])('reads %j as %j, in the order in which they were applied', (header, codings) => {
    expect(codingsOf(header, BOTH)).toEqual(codings);
  });

  it.each<[string, readonly ContentCoding[], string]>([
    ['br', ['gzip'], 'gzip, identity'],
    ['gzip, br', ['gzip'], 'gzip, identity'],
    ['gzip, gzip', ['gzip'], 'gzip, identity'],
    ['gzip, x-gzip', ['gzip'], 'gzip, identity'],
    ['base64', ['gzip'], 'gzip, identity'],
    ['base64, gzip, base64', BOTH, 'gzip, base64, identity'],
    ['gzip, base64, gzip', BOTH, 'gzip, base64, identity'],
    ['gzip;q=1', BOTH, 'gzip, base64, identity'],
    ['gzip', [], 'identity'],
  ])('rejects %j if the route accepts %j, and names the accepted codings', (header, allowed, accepted) => {
    let rejection: unknown;
    try {
      codingsOf(header, allowed);
    } catch (error) {
      rejection = error;
    }
    expect(rejection).toBeInstanceOf(Problem);
    expect(rejection).toMatchObject({
      status: 415,
      code: 'unsupported_content_encoding',
      headers: { 'Accept-Encoding': accepted },
    });
  });
});
