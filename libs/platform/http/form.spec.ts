import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { type FormWithFile, type FormWithFileRules, readFormFiles, readFormWithFile } from './form';

const RULES: FormWithFileRules = { file: 'file', fileBytes: 1000, fields: ['name', 'note'], fieldBytes: 20 };

interface Part {
  name: string;
  content: string | Buffer;
  filename?: string;
  /** More headers, each after a line break. */
  headers?: string;
}

const field = (name: string, content: string | Buffer): Part => ({ name, content });
const file = (content: string | Buffer, name = 'file'): Part => ({ name, content, filename: 'data.csv' });

const bodyOf = (parts: Part[], end = '\r\n--b--\r\n'): Buffer =>
  Buffer.concat([
    ...parts.map(({ name, content, filename, headers = '' }, index) =>
      Buffer.concat([
        Buffer.from(
          `${index > 0 ? '\r\n' : ''}--b\r\nContent-Disposition: form-data; name="${name}"` +
            (filename === undefined
              ? ''
              : `; filename="${filename}"${headers.includes('Type:') ? '' : '\r\nContent-Type: Text/CSV'}`) +
            `${headers}\r\n\r\n`,
        ),
        Buffer.from(content),
      ]),
    ),
    Buffer.from(end),
  ]);

describe('a form with one file', () => {
  const discarded: Buffer[] = [];

  const readForm = (
    body: Buffer,
    contentType = 'multipart/form-data; boundary=b',
  ): Promise<FormWithFile<Buffer>> =>
    readFormWithFile(
      { bytes: Readable.from([body]), contentType },
      RULES,
      (content) => buffer(content),
      (stored) => Promise.resolve(void discarded.push(stored)),
    );
  const rejection = async (body: Buffer, contentType?: string) => {
    const error = await readForm(body, contentType).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'Problem' });
    const { status, detail } = error as { status: number; detail: string };
    return [status, detail];
  };

  it.each([
    ['before', (fields: Part[], one: Part) => [...fields, one]],
    ['after', (fields: Part[], one: Part) => [one, ...fields]],
  ])('is read with the fields %s the file, and ignores other fields', async (_, order) => {
    const fields = [field('name', 'Grüße'), field('other', 'x'.repeat(1000))];
    const form = await readForm(bodyOf(order(fields, file('a,b\r\n1,2\r\n'))));
    expect(form.fields).toEqual({ name: 'Grüße' });
    expect(form.stored.toString()).toBe('a,b\r\n1,2\r\n');
    expect(form).toMatchObject({ filename: 'data.csv', mediaType: 'text/csv' });
  });

  it('keeps every byte of the file, even text that looks like a boundary', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.constantFrom('\r\n', '\r\n--', '--b', '\r\n-', '--', '\r'),
            fc.string({ unit: 'binary' }),
          ),
          { maxLength: 30 },
        ),
        async (pieces) => {
          const content = pieces.join('');
          fc.pre(!`\r\n${content}`.includes('\r\n--b') && Buffer.byteLength(content) <= RULES.fileBytes);
          const form = await readForm(bodyOf([field('name', 'n'), file(content)]));
          expect(form.stored.toString('hex')).toBe(Buffer.from(content).toString('hex'));
        },
      ),
    ));

  it('accepts files and fields up to their limits', async () => {
    const form = await readForm(bodyOf([field('name', 'x'.repeat(20)), file(randomBytes(1000))]));
    expect([form.stored.length, form.fields['name']!.length]).toEqual([1000, 20]);
    expect(await rejection(bodyOf([file(randomBytes(1001))]))).toEqual([
      413,
      expect.stringMatching(/1000 bytes/),
    ]);
    expect(await rejection(bodyOf([field('note', 'x'.repeat(21)), file('')]))).toEqual([
      413,
      expect.stringMatching(/note .* 20 bytes/),
    ]);
  });

  it('decodes fields from the charset of their part', async () => {
    const latin = {
      ...field('name', Buffer.from('Grüße', 'latin1')),
      headers: '\r\nContent-Type: text/plain; charset=latin1',
    };
    expect((await readForm(bodyOf([latin, file('x')]))).fields).toEqual({ name: 'Grüße' });
  });

  it('limits the boundary to 70 characters, because the search for a longer one takes longer', async () => {
    const read = (boundary: string) => ({
      body: Buffer.from(
        bodyOf([file('x')])
          .toString()
          .replaceAll('--b', `--${boundary}`),
      ),
      type: `multipart/form-data; boundary=${boundary}`,
    });
    const long = read('a'.repeat(71));
    for (const type of [long.type, 'multipart/form-data; boundary=""', 'multipart/form-data']) {
      expect(await rejection(long.body, type)).toEqual([400, expect.stringMatching(/boundary of 1 to 70/)]);
    }
    const longest = read('a'.repeat(70));
    expect((await readForm(longest.body, longest.type)).stored.length).toBe(1);
  });

  it('discards its file if a later part is rejected', async () => {
    discarded.length = 0;
    await rejection(bodyOf([file('stored'), field('note', 'x'.repeat(21))]));
    expect(discarded.map(String)).toEqual(['stored']);
  });

  const nothing = Buffer.alloc(0);
  const cases: [string, Buffer, RegExp, string?][] = [
    ['without an end', bodyOf([file('a')], ''), /well-formed/],
    ['that ends within a header', Buffer.from('--b\r\nContent-Disposition: form-'), /well-formed/],
    ['without parts', nothing, /well-formed/],
    [
      'with another boundary than in Content-Type',
      bodyOf([file('a')]),
      /well-formed/,
      'multipart/form-data; boundary=c',
    ],
    ['without a boundary', bodyOf([file('a')]), /boundary/, 'multipart/form-data'],
    ['with invalid headers', Buffer.from('--b\r\n\u0001\u0002: \u0000\r\n\r\nx\r\n--b--\r\n'), /well-formed/],
    ['with an endless header', Buffer.from(`--b\r\nX: ${'x'.repeat(17 * 1024)}\r\n--b--\r\n`), /well-formed/],
    ['without the file', bodyOf([field('name', 'n')]), /file: is required/],
    ['with the file as a field', bodyOf([field('file', 'a,b')]), /file: must be a file/],
    ['with two files', bodyOf([file('a'), file('b')]), /one file/],
    ['with a file of another name', bodyOf([file('a', 'upload')]), /one file, in the part file/],
    ['with a field twice', bodyOf([field('name', '1'), field('name', '2'), file('a')]), /name: .*only once/],
    ['with a NUL in a field', bodyOf([field('name', 'a\0'), file('a')]), /NUL/],
    [
      'with too many parts',
      bodyOf([...Array.from({ length: 60 }, (_, index) => field(`f${index}`, '')), file('a')]),
      /at most 50 parts/,
    ],
  ];
  for (const [title, body, detail, contentType] of cases) {
    it(`is rejected ${title}`, async () => {
      expect(await rejection(body, contentType)).toEqual([400, expect.stringMatching(detail)]);
    });
  }
});

describe('a form with files', () => {
  const read = (parts: Part[], filesMax = 3) =>
    readFormFiles(Readable.from([bodyOf(parts)]), 'multipart/form-data; boundary=b', {
      fields: ['name'],
      fieldBytes: 20,
      filesMax,
    });
  const at = (filename: string, content: string | Buffer): Part => ({ name: 'any', filename, content });

  it('returns them in order, with their complete names and contents', async () => {
    const large = randomBytes(300_000);
    const { fields, files } = await read([
      at('a/b.txt', large),
      field('name', 'x'),
      at('世界/../c', ''),
      at('a/b.txt', 'b'),
    ]);
    expect(fields).toEqual({ name: 'x' });
    expect(files.map(({ filename, content }) => [filename, content])).toEqual([
      ['a/b.txt', large],
      ['世界/../c', Buffer.alloc(0)],
      ['a/b.txt', Buffer.from('b')],
    ]);
  });

  it('is rejected if it has too many files', async () => {
    const many = Array.from({ length: 4 }, (_, index) => at(`${index}`, 'x'));
    await expect(read(many)).rejects.toMatchObject({
      status: 400,
      detail: expect.stringContaining('at most 3 files'),
    });
  });
});
