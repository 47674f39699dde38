import { toJsonText } from '#platform/json';
import { BUILTINS, Masker, type MaskingRule } from './index';

const ALL = new Masker(BUILTINS.map((builtin) => ({ builtin })));

function run<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

const mask = (rules: readonly MaskingRule[], text: string, ...fields: string[]): string =>
  run(new Masker(rules).start().text(text, ...fields));

describe('Masker', () => {
  it.each([
    // e-mail addresses
    ['mail jane@example.com now', 'mail [email] now'],
    ['jörg.o’x+tag@sub.example.co.uk.', 'jörg.o’[email].'],
    ["<jane-doe@example.org>,o'hara@example.org", '<[email]>,[email]'],
    ['mailto:jane@example.com?subject=x', 'mailto:[email]?subject=x'],
    ['联系jane@example.com。', '联系[email]。'],
    [String.raw`"a\njane@example.com\tb"`, String.raw`"a\n[email]\tb"`],
    [String.raw`j\u00f6rg@example.com \u201cjane@example.com`, String.raw`[email] \u201c[email]`],
    ['https://jane:pw@example.com/', 'https://jane:[email]/'],
    // phone numbers
    ['+49 151 12345678, +1 (555) 234-5678', '[phone], [phone]'],
    ['tel:+4930123456', 'tel:[phone]'],
    ['+49 (0) 30 / 1234567', '[phone]'],
    ['(555) 234-5678 or 555.234.5678.', '[phone] or [phone].'],
    ['1-800-555-0199', '[phone]'],
    ['030 1234567 089/1234567', '[phone] [phone]'],
    ['01.12.2026 030 1234567', '01.12.2026 [phone]'],
    ['0049 151 12345678, 0049 15112345678, (0044) 20 7946 0958', '[phone], [phone], [phone]'],
    ['020 7946 0958; 01 23 45 67 89; (0151) 123 456 78', '[phone]; [phone]; [phone]'],
    [String.raw`call\n+49 30 901820\n030 901820-12`, String.raw`call\n[phone]\n[phone]`],
    // card numbers
    ['4111 1111 1111 1111, 4111-1111-1111-1111 12/26', '[card], [card] 12/26'],
    ['card:378282246310005.', 'card:[card].'],
    ['2 of 5555555555554444', '2 of [card]'],
    [String.raw`\n4111111111111111\n`, String.raw`\n[card]\n`],
    // secrets
    ['rsk_abcdefghijklmnopqrstuvwx', '[api_key]'],
    ['key="sk-proj-abcdefghijklmnop1234";', 'key="[api_key]";'],
    ['AKIAIOSFODNN7EXAMPLE ghp_abcdefghijklmnopqrstuvwxyz01', '[api_key] [api_key]'],
    ['xoxb-1234567890-abc AIzaSyA1234567890abcdefghijklmnopqrstuv', '[api_key] [api_key]'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc_def-', '[api_key]'],
    ['Authorization: Bearer abcdefghijklmnop1234==', 'Authorization: Bearer [api_key]'],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest', '[api_key]\nrest'],
    ['-----BEGIN PRIVATE KEY-----\\nMIIE\\nx', '[api_key]'],
    // of several that overlap, the first and longest
    ['+4915112345678@example.com', '[phone]'],
    ['sk-abcdefghijklmnop1234@example.com', '[email]'],
  ])('masks %j', (text, expected) => {
    expect(run(ALL.start().text(text))).toBe(expected);
  });

  it.each([
    'a@b, x@1.2.3, @jane, jane@localhost',
    '2026-11-30 05:42:13, 30.11.2026 12:00, 01/12/2026, 01-12-2026 05:42:13',
    '00 1234567890123456 or 0049 1234567890123456',
    '1795132800000000000 or 0123456789 or 5551234',
    '192.168.100.200:8080 v1.2.3.4567',
    '0 1 2 3 4 5 6 7 8 9, 1,234,567.89, 3.14159265358979',
    '4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7',
    '00000000-0000-4000-8000-000000000000 5f0a4567-1234-4567-8901-123456789012',
    'ses_01h455vb4pex5vsknk084sn02q call_4111111111111111',
    '4111 1111 1111 1112', // the check digit is wrong
    'whisk-abcdefghijklmnopqrstuv task-force sk-1 Bearer of bad news',
    '-----BEGIN PUBLIC KEY-----',
    '',
  ])('leaves %j', (text) => {
    const masking = ALL.start();
    expect(run(masking.text(text))).toBe(text);
    expect(masking.count).toBe(0);
  });

  it('takes replacements literally, and never searches them', () => {
    const rules = [{ builtin: 'email', replacement: '$&$1' } as const, { pattern: '[$]', replacement: '' }];
    expect(mask(rules, 'jane@example.com $1')).toBe('$&$1 1');
  });

  it('limits a rule to fields, and to everything in them', () => {
    const rules = [{ pattern: 'secret', fields: ['output', 'note'] }];
    const value = { a: 'secret', note: ['secret', { b: 'secret' }] };
    expect(run(new Masker(rules).start().json(structuredClone(value), 'input'))).toEqual({
      a: 'secret',
      note: ['[masked]', { b: '[masked]' }],
    });
    expect(mask(rules, 'secret', 'output')).toBe('[masked]');
  });

  it('masks JSON at any depth, except identifiers, numbers and names of members', () => {
    const masking = ALL.start();
    const value = JSON.parse(
      '{"2":"a@x.org","1":[1,{"b@x.org":"b@x.org"}],"__proto__":"c@x.org","id":"d@x.org","user_id":"e@x.org",' +
        '"toolCallId":"f@x.org","function":{"name":"g@x.org","arguments":"{\\"to\\":\\"h@x.org\\"}"},"n":4111111111111111}',
    ) as object;
    expect(toJsonText(run(masking.json(value)))).toBe(
      '{"1":[1,{"b@x.org":"[email]"}],"2":"[email]","__proto__":"[email]","id":"d@x.org","user_id":"e@x.org",' +
        '"toolCallId":"f@x.org","function":{"name":"g@x.org","arguments":"{\\"to\\":\\"[email]\\"}"},"n":4111111111111111}',
    );
    expect(masking.count).toBe(4);
  });

  it('does not let replacements make the texts of a request much longer', () => {
    const masked = mask([{ pattern: 'a', replacement: 'x'.repeat(255) }], 'a'.repeat(100_000));
    expect(masked).toMatch(/^x+$/);
    expect(masked.length).toBeLessThan(2 * 1024 * 1024);
  });

  it('replaces texts as a whole once its patterns have taken too many steps', () => {
    const masking = new Masker([{ pattern: 'a.*z|a' }]).start();
    expect(run(masking.text(`b${'a'.repeat(1_000_000)}`))).toBe('[masked]');
    expect(run(masking.text('anything'))).toBe('[masked]');
  });

  it.each([
    ['jane@example.com', '[email]'],
    ['+49 151 12345678', '[phone]'],
    ['4111 1111 1111 1111', '[card]'],
    ['sk-proj-abcdefghijklmnop1234', '[api_key]'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc_def-', '[api_key]'],
    ['employee 1234567', '[masked]'],
  ])('masks %j wherever it is in a long text', (value, expected) => {
    const masker = new Masker([...BUILTINS.map((builtin) => ({ builtin })), { pattern: 'employee [0-9]+' }]);
    for (let before = 32_768 - value.length - 1; before <= 32_770; before++) {
      const text = (middle: string): string => `${' '.repeat(before)}${middle} ${'x '.repeat(40_000)}`;
      const masking = masker.start();
      expect(run(masking.text(text(value))) === text(expected)).toBe(true);
      expect(masking.count).toBe(1);
    }
  });

  it('replaces values that overlap in several parts of a text once', () => {
    const rules = [{ pattern: '<[^>]*>' }, { builtin: 'email' } as const];
    const text = `a <${'jane@example.com '.repeat(10_000)}> b jane@example.com`;
    expect(mask(rules, text)).toBe('a [masked] b [email]');
  });

  it('applies the first of several rules for the same values', () => {
    const rules = [
      { builtin: 'email', fields: ['note'], replacement: '1' } as const,
      { builtin: 'email', replacement: '2' } as const,
    ];
    expect(mask(rules, 'a@x.org', 'note')).toBe('1');
    expect(mask(rules, 'a@x.org')).toBe('2');
  });

  it('pauses after each part of a long text, and of many short ones', () => {
    const pauses = (value: unknown): number => [...ALL.start().json(value)].length;
    expect(pauses('jane@example.com '.repeat(20_000))).toBeGreaterThan(8);
    expect(pauses(Array.from({ length: 1_000 }, () => 'jane@example.com '.repeat(20)))).toBeGreaterThan(8);
    expect(pauses('jane@example.com')).toBe(0);
  });

  // a search that is not linear would take minutes
  it.each([
    'a', '@', 'a@', 'a@a.', '1', '4 ', '0123 ', '+1', 'sk-', 'eyJ', 'eyJaaaaaaaa-', 'eyJaaaaaaaa.', '555-234-', '(555) ',
    '01.', 'a.', '-----BEGIN ', '-----BEGIN PRIVATE KEY-----', 'Bearer ', '\\u00e4@', '\\u00e4', '4111 1111 1111 1112 ',
  ])('takes linear time for %j', (unit) => {
    const text = unit.repeat(Math.ceil((1024 * 1024) / unit.length));
    expect(typeof run(ALL.start().text(text))).toBe('string');
  }); // oxfmt-ignore

  // a search that reads a run at once would overflow the stack of regular expressions
  it.each([
    ['rsk_', 'a', ''],
    ['sk_live_', 'a', ''],
    ['ghp_', 'a', ''],
    ['xoxb-', 'a', ''],
    ['AIza', 'a', ''],
    ['Bearer ', 'a.', ''],
    ['eyJ', 'a', '.eyJhbGciOi.x'],
    ['eyJhbGciOiJIUzI1NiJ9.', 'a', '.x'],
    ['-----BEGIN PRIVATE KEY-----', 'a', ''],
    ['-----BEGIN PRIVATE KEY-----', '\\n', ''],
  ])('masks %j and 16 MiB of %j', (start, unit, end) => {
    const run = unit.repeat((16 * 1024 * 1024) / unit.length);
    expect(mask([{ builtin: 'api_key' }], `a ${start}${run}${end}`)).toMatch(/^a (?:Bearer )?\[api_key\]$/);
  });

  it.each(['eyJ', 'eyJhbGciOiJIUzI1NiJ9.'])('leaves %j and 16 MiB that are no JWT', (start) => {
    const text = start + 'a'.repeat(16 * 1024 * 1024);
    expect(mask([{ builtin: 'api_key' }], text) === text).toBe(true);
  });
});
