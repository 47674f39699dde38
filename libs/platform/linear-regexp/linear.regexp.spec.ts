import { LinearRegExp, PatternError } from './linear.regexp';

describe('LinearRegExp', () => {
  const rejection = (pattern: string, flags?: string): string => {
    try {
      LinearRegExp.compile(pattern, flags);
    } catch (error) {
      expect(error).toBeInstanceOf(PatternError);
      return (error as Error).message;
    }
    throw new Error(`${pattern} was accepted`);
  };

  it.each([
    ['b+', '', 'abbc', true],
    ['^b', '', 'abbc', false],
    ['^B', 'i', 'bc', true],
    ['a.c', '', 'a\nc', false],
    ['a.c', 's', 'a\nc', true],
    ['^c$', 'm', 'a\nc\nb', true],
    ['(?<year>\\d{4})-(?<month>\\d\\d)', '', '2026-01', true],
    ['\\u0041\\x42\\/', '', 'AB/', true],
    ['^\\p{L}+$', 'u', 'Größe', true],
    ['^.$', '', '😀', true],
    ['[^]', '', '\n', true],
    ['\\\\k<', '', '\\k<', true],
  ])('applies %s with the flags "%s" to %j: %s', (pattern, flags, text, expected) => {
    expect(LinearRegExp.compile(pattern, flags).test(text)).toBe(expected);
  });

  it.each(['^(a+)+$', '^(a|a)*$', '(.*a){20}$', '^(([a-z])+.)+[A-Z]([a-z])+$'])(
    'matches %s in time linear in the text',
    (pattern) => {
      expect(LinearRegExp.compile(pattern).test(`${'a'.repeat(50_000)}!`)).toBe(false);
    },
  );

  it.each([
    ['(?=a)b', 'lookahead and lookbehind are not supported'],
    ['a(?!b)', 'lookahead and lookbehind are not supported'],
    ['(?<=a)b', 'lookahead and lookbehind are not supported'],
    ['(a)\\1', 'backreferences are not supported'],
    ['(?<n>a)\\k<n>', 'backreferences are not supported'],
    ['[a', 'missing closing ]'],
    ['(a', 'missing closing )'],
    ['[(?=](', 'missing closing )'],
    ['a{2000}', 'invalid repeat count'],
    ['a'.repeat(1_001), 'at most 1000 characters'],
  ])('rejects %s with the reason', (pattern, why) => {
    expect(rejection(pattern)).toContain(why);
  });

  it('rejects flags that have no effect or that keep state', () => {
    expect(rejection('a', 'g')).toContain('the flag "g" is not supported');
  });

  it.each([
    `(?:${'a?'.repeat(400)}){1000}`,
    `(?:(?:a?){99}b{9}){999}`,
    `(?:[(]a?b?c?d?e?f?){999}`,
    `(?i)${'\\p{L}'.repeat(190)}`,
    `(?:\\Q[\\E${'a?'.repeat(20)}){999}`,
  ])('rejects the large pattern %# before compiling it, which would take seconds', (pattern) => {
    expect(rejection(pattern)).toContain('too large');
  });

  it('accepts common repetitions', () => {
    for (const pattern of [
      '\\d{1,3}(?:\\.\\d{1,3}){3}',
      '^.{0,1000}$',
      '(?:[a-z]{2,10} ){3,20}',
      'x{500}y{500}',
    ]) {
      expect(LinearRegExp.compile(pattern).programSize).toBeLessThan(5_000);
    }
  });
});
