import { RawJson } from '#platform/json';
import { decodeSubject, encodeSubject, type EncodedSubject } from './subject';

const subject = { input: null, output: null, expected: null, metadata: null, trace: null, session: null };

describe('an encoded subject', () => {
  it('keeps the JSON of clients verbatim, without parsing it', () => {
    const parse = jest.spyOn(RawJson.prototype, 'parse');
    const trace = { input: new RawJson('{"2":  1, "1": 1e400}') };
    const encoded = encodeSubject({ ...subject, input: new RawJson('[ 1.0,  {} ]'), trace });
    expect(encoded).toEqual({
      members: ['[ 1.0,  {} ]', 'null', 'null', 'null', '{"input":{"2":  1, "1": 1e400}}', 'null'],
      ofSession: false,
    });
    expect(parse).not.toHaveBeenCalled();
  });

  it('is decoded without a member `trace` for a session', () => {
    const { trace: _, ...session } = { ...subject, session: { session_id: 's' } };
    expect(decodeSubject(encodeSubject(session) as EncodedSubject)).toStrictEqual(session);
    expect(decodeSubject(encodeSubject(subject) as EncodedSubject)).toStrictEqual(subject);
  });
});
