import { unifiedDiff } from './text-diff';

const lines = (...numbers: (number | string)[]): string => numbers.join('\n');

describe('unifiedDiff', () => {
  it.each([
    ['a', 'a', []],
    [null, null, []],
    [null, 'a\nb', ['@@ -0,0 +1,2 @@', '+a', '+b']],
    ['a', null, ['@@ -1,1 +0,0 @@', '-a']],
    [null, '', ['@@ -0,0 +1,1 @@', '+']],
    ['a', 'b', ['@@ -1,1 +1,1 @@', '-a', '+b']],
    ['a\nb\nc', 'a\nx\nc', ['@@ -1,3 +1,3 @@', ' a', '-b', '+x', ' c']],
    ['a\r\nb', 'a\nb', ['@@ -1,2 +1,2 @@', '-a\\u{000D}', '+a', ' b']],
    ['a\nb', 'a\nb\u200b', ['@@ -1,2 +1,2 @@', ' a', '-b', '+b\\u{200B}']],
    ['a\u{e0041}\nb', 'a\u{e0041}\nc', ['@@ -1,2 +1,2 @@', ' a\\u{E0041}', '-b', '+c']],
  ])('compares %j with %j', (before, after, expected) => {
    expect(unifiedDiff(before, after)).toEqual(expected);
  });

  it('shows three unchanged lines around each change, and joins near ones', () => {
    const before = lines(...Array.from({ length: 30 }, (_, i) => i + 1));
    const after = before.replace('\n5\n', '\n').replace('\n10\n', '\nten\n').replace('\n25\n', '\n25\n25a\n');
    expect(unifiedDiff(before, after)).toEqual([
      '@@ -2,12 +2,11 @@',
      ...[' 2', ' 3', ' 4', '-5', ' 6', ' 7', ' 8', ' 9', '-10', '+ten', ' 11', ' 12', ' 13'],
      '@@ -23,6 +22,7 @@',
      ...[' 23', ' 24', ' 25', '+25a', ' 26', ' 27', ' 28'],
    ]);
  });

  it('shows as few lines as possible as removed and added', () => {
    expect(unifiedDiff(lines('x', 'a', 'b', 'c', 'y'), lines('y', 'a', 'b', 'c', 'x'))).toEqual([
      '@@ -1,5 +1,5 @@',
      ...['-x', '+y', ' a', ' b', ' c', '-y', '+x'],
    ]);
  });

  it('finds common lines among up to a million pairs, and shows longer texts as removed and added', () => {
    const text = (letter: string, count: number): string => {
      const half = Array.from({ length: (count - 1) / 2 }, (_, i) => `${letter}${i}`);
      return lines(...half, 'common', ...half);
    };
    const within = unifiedDiff(text('a', 999), text('b', 999));
    expect([within[0], within.filter((line) => line.endsWith('common'))]).toEqual([
      '@@ -1,999 +1,999 @@',
      [' common'],
    ]);
    const beyond = unifiedDiff(text('a', 1_001), text('b', 1_001));
    expect(beyond.filter((line) => line.endsWith('common'))).toEqual(['-common', '+common']);
  });
});
