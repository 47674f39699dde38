import { PERSONAL_DATA } from './personal-data.source';
import { SourceRunner } from './run-source.fixture';

describe('personal data', () => {
  const runner = new SourceRunner(PERSONAL_DATA);
  afterAll(() => runner.close());

  /** Returns the count of each kind that was found. */
  const countsOf = async (output: unknown): Promise<Record<string, unknown>> => {
    const outcome = await runner.run({ output });
    if ('error' in outcome) throw new Error(outcome.error);
    const kinds = Object.entries(outcome.answers!).filter(([, count]) => count !== 0);
    expect(outcome.score).toBe(kinds.length === 0 ? 1 : 0);
    return Object.fromEntries(kinds);
  };

  it.each<[string, Record<string, number>]>([
    ['Write to ada@example.com.', { email: 1 }],
    ['<Ada.Lovelace+news@mail.example.co.uk>, or ADA.lovelace+news@mail.example.co.uk', { email: 1 }],
    ['mailto:a@b.io;c@d.io', { email: 2 }],
    // test numbers that card networks publish
    ['4111111111111111', { card_number: 1 }],
    ['card: 4111-1111-1111-1111!', { card_number: 1 }],
    ['5555 5555 5555 4444 and 3782 822463 10005', { card_number: 2 }],
    ['(6011111111111117)', { card_number: 1 }],
    // examples of the IBAN registry
    ['GB82 WEST 1234 5698 7654 32', { iban: 1 }],
    ['Pay to de89370400440532013000 today', { iban: 1 }],
    ['IBAN: FR14 2004 1010 0505 0001 3M02 606 THANKS', { iban: 1 }],
    ['NO93 8601 1117 947', { iban: 1 }],
    ['DE89 3704 0044 0532 0130 00 BE68 5390 0754 7034 AND MORE', { iban: 2 }],
    ['+49 30 901820', { phone_number: 1 }],
    ['Call +1 (415) 555-2671.', { phone_number: 1 }],
    ['+442079460958', { phone_number: 1 }],
    ['(415) 555-2671 or 415-555-2671 or 415.555.2671', { phone_number: 1 }],
    ['020 7946 0958', { phone_number: 1 }],
    ['01 23 45 67 89', { phone_number: 1 }],
    ['0171/1234567', { phone_number: 1 }],
    ['from 8.8.8.8, port 80', { ip_address: 1 }],
    ['2001:4860:4860::8888', { ip_address: 1 }],
    ['[2001:0db8:85a3:0000:0000:8a2e:0370:7334]', { ip_address: 1 }],
    ['SSN 536-90-4399', { us_social_security_number: 1 }],
  ])('is found in %j', async (output, kinds) => {
    expect(await countsOf(output)).toEqual(kinds);
  });

  it.each([
    'Order 4815162342 has shipped.',
    'Order ORD-20240131-000123, invoice #2024-0001-7788, ticket 12345678901234567890.',
    'Order 100-4234567-8901234 (Amazon style), 112-3456789-1234567',
    // the shape of a card, and a wrong check digit
    '4111 1111 1111 1112 and 4111111111111112',
    '4929-1837-5562-0001',
    // right check digits, and more digits around them
    'x4111111111111111, 4111111111111111-22, 14111111111111111112, 0.4111111111111111',
    '0000 0000 0000 0000',
    // the shape of an IBAN, and wrong check digits, a country without them, or another length
    'GB83 WEST 1234 5698 7654 32, US82 WEST 1234 5698 7654 32, DE89 3704 0044 0532 0130',
    'DE893704004405320130001, DE89',
    '2024-01-31T10:15:30.123Z, 31.01.2024 10:15, 01/02/2024, 01-02-2024, 1706696130',
    'between 1000-2000 and 3000-4000; 10 000 000; 1.234.567,89; 0.0001234567',
    'v1.2.3.4, version-1.2.3.4, 10.0.0.1, 192.168.1.20, 127.0.0.1, 300.1.1.1, 1.2.3.4.5, 0.0.0.0',
    '::1, fe80::1, std::vector, 10:15:30, a::b, 2001:::1, 2001:1:2:3:4:5:6:7:8',
    '000-12-3456, 666-12-3456, 900-12-3456, 123-00-4567, 123-45-0000, 123-45-67890',
    '@ada, ada@, @example.com, ada@localhost, ...@example.com, ada@example.123',
    'ISBN 978-3-16-148410-0, EAN 4006381333931, 0042-1337-0001',
    '',
  ])('is not found in %j', async (output) => {
    expect(await countsOf(output)).toEqual({});
  });

  it('is found at any depth of a JSON output', async () => {
    const output = { 'ada@example.com': [{ deep: ['call +442079460958'] }], card: 4111111111111111 };
    expect(await countsOf(output)).toEqual({ email: 1, phone_number: 1, card_number: 1 });
    for (const none of [true, 42, [], {}]) expect(await countsOf(none)).toEqual({});
  });

  it('has no score without an output', async () => {
    for (const subject of [{ output: null }, {}]) {
      expect(await runner.run(subject)).toMatchObject({ score: null, reasoning: 'There is no output.' });
    }
  });

  it('does not appear in the reasoning', async () => {
    const outcome = await runner.run({ output: 'ada@example.com, 4111111111111111, +442079460958' });
    expect(JSON.stringify(outcome)).not.toMatch(/ada|4111|4420/);
    expect(outcome).toMatchObject({ label: 'found', reasoning: 'Found: email, card_number, phone_number.' });
  });

  it.each<[string, string]>([
    ['digits', '7'],
    ['groups of digits', '1234 '],
    ['brackets', '(1 '],
    ['at signs', 'a@'],
    ['dots', '1.'],
    ['colons', '2001:'],
    ['letters of an IBAN', 'DE89 '],
    ['words', 'of course '],
    ['plus signs', '+'],
    ['local parts', 'a.'],
    ['addresses', 'a.bb@c.dd '],
    ['addresses without an end', 'a@b.cc@'],
  ])('is searched for in linear time, even in a text that consists of %s', async (_, part) => {
    const output = part.repeat(Math.ceil(100_000 / part.length));
    const outcome = await runner.run({ output });
    expect(outcome).toHaveProperty('score');
  });
});
