import { unifiedDiff } from './text-diff';

describe('unifiedDiff', () => {
  it.each([
    [null, 'a\nb', ['@@ -0,0 +1,2 @@', '+a', '+b']],
    ['a', null, ['@@ -1,1 +0,0 @@', '-a']],
    [null, '', ['@@ -0,0 +1,1 @@', '+']],
    ['a\nb\nc', 'a\nx \nc', ['@@ -1,3 +1,3 @@', ' a', '-b', '+x ', ' c']],
    ['a\r\nb', 'a\nb', ['@@ -1,2 +1,2 @@', '-a\\u{000D}', '+a', ' b']],
    ['a\nb', 'a\nb\u200b', ['@@ -1,2 +1,2 @@', ' a', '-b', '+b\\u{200B}']],
    ['a\u{e0041}\nb', 'a\u{e0041}\nc', ['@@ -1,2 +1,2 @@', ' a\\u{E0041}', '-b', '+c']],
  ])('compares %j with %j', (before, after, expected) => {
    expect(unifiedDiff(before, after)).toEqual(expected);
  });

  it('shows three unchanged lines around each change', () => {
    const before = Array.from({ length: 30 }, (_, index) => `${index + 1}`).join('\n');
    expect(unifiedDiff(before, before.replace('\n10\n', '\nten\n'))).toEqual([
      '@@ -7,7 +7,7 @@',
      ...[' 7', ' 8', ' 9', '-10', '+ten', ' 11', ' 12', ' 13'],
    ]);
  });

  it('finds common lines among 500 changed ones, and shows longer changes as removed and added', () => {
    const text = (letter: string, count: number): string =>
      [...Array<string>(count).fill(letter), 'common', ...Array<string>(count).fill(letter)].join('\n');
    const within = unifiedDiff(text('a', 125), text('b', 125));
    expect([within[0], within.filter((line) => line.endsWith('common'))]).toEqual([
      '@@ -1,251 +1,251 @@',
      [' common'],
    ]);
    const beyond = unifiedDiff(text('a', 126), text('b', 126));
    expect([beyond[0], beyond.filter((line) => line.endsWith('common'))]).toEqual([
      '@@ -1,253 +1,253 @@',
      ['-common', '+common'],
    ]);
    expect(unifiedDiff(null, text('a', 250))).toHaveLength(502);
    expect(unifiedDiff(text('a', 250), null)[0]).toBe('@@ -1,501 +0,0 @@');
  });
});
