import { RawJson } from '#platform/json';
import { decodeSubject, encodeSubject } from './subject.codec';

const subject = { input: null, output: null, expected: null, metadata: null, trace: null, session: null };

describe('a subject on its way to a sandbox thread', () => {
  it('has what clients wrote as they wrote it, which this process never parses', () => {
    const parse = jest.spyOn(RawJson.prototype, 'parse');
    const trace = { input: new RawJson('{"2":  1, "1": 1e400}') };
    const encoded = encodeSubject({ ...subject, input: new RawJson('[ 1.0,  {} ]'), trace });
    expect(encoded).toEqual({
      members: ['[ 1.0,  {} ]', 'null', 'null', 'null', '{"input":{"2":  1, "1": 1e400}}', 'null'],
    });
    expect(parse).not.toHaveBeenCalled();
  });

  it('has no trace again where a session is scored', () => {
    const { trace: _, ...session } = { ...subject, session: { session_id: 's' } };
    const { members } = encodeSubject(session) as { members: string[] };
    expect(decodeSubject({ members, ofSession: true })).toStrictEqual(session);
    expect(decodeSubject({ members, ofSession: false })).toStrictEqual({ ...session, trace: null });
  });
});
