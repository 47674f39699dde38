import { hiddenCharacters } from './hidden-characters';

describe('hiddenCharacters', () => {
  it.each([
    ['a zero-width space', 'a\u200bb', 'U+200B'],
    ['a zero-width joiner', 'a\u200db', 'U+200D'],
    ['a byte order mark', '\ufeff', 'U+FEFF'],
    ['a bidirectional override', '\u202e', 'U+202E'],
    ['a bidirectional isolate', '\u2066', 'U+2066'],
    ['a tag character', '\u{e0041}', 'U+E0041'],
    ['a variation selector', '\u{e0101}', 'U+E0101'],
    ['a soft hyphen', '\u00ad', 'U+00AD'],
    ['a Hangul filler', '\u3164', 'U+3164'],
    ['a blank Braille pattern', '\u2800', 'U+2800'],
    ['a line separator', '\u2028', 'U+2028'],
    ['an escape character', '\u001b', 'U+001B'],
    ['a NUL', '\0', 'U+0000'],
    ['a carriage return without a line feed', 'a\rb', 'U+000D'],
  ])('finds %s', (_, text, codePoint) => {
    expect(hiddenCharacters(text)).toEqual({ code_points: [codePoint], count: 1, pointers: [''] });
  });

  it('finds none in ordinary text', () => {
    const texts = ['a\tb\r\nc', 'Größe “x” – 日本語 العربية', '😀', 'a\u00a0b'];
    expect(hiddenCharacters(texts)).toBeNull();
    expect(hiddenCharacters({ a: [1, null, true] })).toBeNull();
  });

  it('reports their positions, up to a limit', () => {
    const one = hiddenCharacters({ list: ['x', { 'na\u200bme': 1 }] });
    expect(one?.pointers).toEqual(['/list/1/na\u200bme']);
    const many = hiddenCharacters(
      Array.from({ length: 200 }, (_, i) => String.fromCodePoint(0xe0100 + i) + i),
    );
    expect([many?.count, many?.code_points.length, many?.pointers.length]).toEqual([200, 100, 20]);
  });
});
