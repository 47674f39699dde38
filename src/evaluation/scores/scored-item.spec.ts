import { itemOf, storable } from './scored-item';

describe('the item of a scored target', () => {
  it('has the score, label, reasoning and answers of the outcome', () => {
    const outcome = { score: 0.5, label: 'fair', reasoning: 'because', answers: { a: [1] } };
    expect(itemOf(outcome, 12.4)).toEqual({
      score: 0.5,
      choice: 'fair',
      reasoning: 'because',
      answers: { a: [1] },
      elapsed_ms: 12,
    });
  });

  it('has no score for a failure or an abstention', () => {
    expect(itemOf({ error: 'no' }, 1)).toEqual({ error: 'no', elapsed_ms: 1 });
    expect(itemOf({ score: null }, 1)).toEqual({ elapsed_ms: 1 });
  });

  it('holds only text that PostgreSQL can store', () => {
    expect(storable('a\0b', 10)).toBe('a\uFFFDb');
    expect(storable('a\uD83Db\uDE00', 10)).toBe('a\uFFFDb\uFFFD');
    expect(storable('\u{1F600}', 10)).toBe('\u{1F600}');
    expect(storable('abcdef', 4)).toBe('abc…');
    expect(itemOf({ score: 1, answers: { 'k\0': ['\0'] } }, 0).answers).toEqual({ 'k\uFFFD': ['\uFFFD'] });
  });

  it('keeps members of any name, without prototype pollution', () => {
    const answers = JSON.parse('{"__proto__": {"polluted": true}}') as Record<string, unknown>;
    const stored = itemOf({ score: 1, answers }, 0).answers!;
    expect(Object.keys(stored)).toEqual(['__proto__']);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
