import { comparePaths, faultOfPath, foldedPath } from '../../resources';
import { commonDirectory } from './skill-path';

describe('the path of a file in a skill', () => {
  it.each([
    'SKILL.md',
    'scripts/a b.sh',
    '.hidden',
    '.a. b',
    'a..b/c',
    'ä/世界.md',
    'console.log',
    'com10',
    'auxiliary/nul-terminated.md',
    " con's",
    'x/'.repeat(63) + 'x',
  ])('may be %j', (path) => expect(faultOfPath(path)).toBeNull());

  it.each([
    '',
    '/',
    '/a',
    'a/',
    'a//b',
    '.',
    '..',
    'a/..',
    'a/./b',
    'a\\b',
    'c:a',
    'C:/a',
    'a\0',
    'a\u007f',
    '\uFFFD',
    'a\u200Bb',
    '\uFEFFa',
    'a\u202Ecod.exe',
    '.. /.. /evil',
    '...',
    'a./b',
    'a.',
    'a ',
    'SKILL.md::$DATA',
    'a/b:c',
    'a<b',
    'a>b',
    'a"b',
    'a|b',
    'a?',
    '*',
    'con',
    'a/CON',
    'aux.txt',
    'Nul .tar.gz',
    'prn/a',
    'COM1',
    'lpt\u00b9.md',
    'conin$',
    '\uD800',
    'x'.repeat(256),
    'x/'.repeat(600) + 'x',
    'x/'.repeat(64) + 'x',
  ])('may not be %j', (path) => expect(faultOfPath(path)).not.toBeNull());

  it.each([
    ['README', 'readme'],
    ['Straße', 'STRASSE'],
    ['\u00e9', 'e\u0301'],
    ['\u00c9', 'e\u0301'],
    ['ſ', 'S'],
  ])(
    'is folded to the same value for %j and %j, because some file systems cannot tell them apart',
    (one, other) => {
      expect(foldedPath(one)).toBe(foldedPath(other));
    },
  );

  it('is sorted by its UTF-8 bytes, not by UTF-16', () => {
    expect(['\u{1F600}', '\uFF5E', 'b', 'a/b', 'a.b', 'B'].sort(comparePaths)).toEqual([
      'B',
      'a.b',
      'a/b',
      'b',
      '\uFF5E',
      '\u{1F600}',
    ]);
  });

  it.each([
    [['a/b/SKILL.md', 'a/b/c/d'], 'a/b/'],
    [['a/SKILL.md'], 'a/'],
    [['SKILL.md', 'a/b'], ''],
    [['ab/x', 'a/x'], ''],
    [[], ''],
  ])('shares with the others in %j the directory %j', (paths, directory) => {
    expect(commonDirectory(paths)).toBe(directory);
  });
});
