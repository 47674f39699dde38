import { itemOf, storable } from './scored-item';

describe('what is kept of an outcome', () => {
  it('is its score, label, reasoning and answers', () => {
    const outcome = { score: 0.5, label: 'fair', reasoning: 'because', answers: { a: [1] } };
    expect(itemOf(outcome, 12.4)).toEqual({
      score: 0.5,
      choice: 'fair',
      reasoning: 'because',
      answers: { a: [1] },
      elapsed_ms: 12,
    });
  });

  it('is no score of a failure, and none of an abstention', () => {
    expect(itemOf({ error: 'no' }, 1)).toEqual({ error: 'no', elapsed_ms: 1 });
    expect(itemOf({ score: null }, 1)).toEqual({ elapsed_ms: 1 });
  });

  it('is text that PostgreSQL can hold', () => {
    expect(storable('a\0b', 10)).toBe('a\uFFFDb');
    expect(storable('a\uD83Db\uDE00', 10)).toBe('a\uFFFDb\uFFFD');
    expect(storable('\u{1F600}', 10)).toBe('\u{1F600}');
    expect(storable('abcdef', 4)).toBe('abc…');
    expect(itemOf({ score: 1, answers: { 'k\0': ['\0'] } }, 0).answers).toEqual({ 'k\uFFFD': ['\uFFFD'] });
  });

  it('has members of any name, and pollutes nothing', () => {
    const answers = JSON.parse('{"__proto__": {"polluted": true}}') as Record<string, unknown>;
    const kept = itemOf({ score: 1, answers }, 0).answers!;
    expect(Object.keys(kept)).toEqual(['__proto__']);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
