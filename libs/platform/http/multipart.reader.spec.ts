import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { type MultipartForm, type MultipartRules, readMultipart } from './multipart.reader';
import { PartHeaders } from './part-headers';
import { SpooledFile } from './spooled-file';

const RULES: MultipartRules = { file: 'file', fileBytes: 1000, fields: ['name', 'note'], fieldBytes: 20 };

interface Part {
  name: string;
  content: string | Buffer;
  filename?: string;
  /** More headers, each after a line break. */
  headers?: string;
}

const field = (name: string, content: string): Part => ({ name, content });
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
  const open: SpooledFile[] = [];
  afterAll(() => Promise.all(open.map((one) => one.close())));

  async function read(
    body: Buffer,
    contentType = 'multipart/form-data; boundary=b',
    rules = RULES,
  ): Promise<MultipartForm> {
    const spooled = await SpooledFile.create();
    open.push(spooled);
    await spooled.append(body);
    spooled.finish();
    return readMultipart({ file: spooled, contentType }, rules);
  }
  const refusal = async (body: Buffer, contentType?: string) => {
    const error = await read(body, contentType).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'Problem' });
    const { status, detail } = error as { status: number; detail: string };
    return [status, detail];
  };

  it.each([
    ['before', (fields: Part[], one: Part) => [...fields, one]],
    ['after', (fields: Part[], one: Part) => [one, ...fields]],
  ])('is read with the fields %s the file, and others passed over', async (_, order) => {
    const fields = [field('name', 'Grüße'), field('other', 'x'.repeat(1000))];
    const form = await read(bodyOf(order(fields, file('a,b\r\n1,2\r\n'))));
    expect(form.fields).toEqual({ name: 'Grüße' });
    expect((await form.file.read()).toString()).toBe('a,b\r\n1,2\r\n');
    expect(form).toMatchObject({ filename: 'data.csv', mediaType: 'text/csv' });
  });

  it('keeps every byte of the file, also what looks like a boundary', () =>
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
          const form = await read(bodyOf([field('name', 'n'), file(content)]));
          expect((await form.file.read()).toString('hex')).toBe(Buffer.from(content).toString('hex'));
        },
      ),
    ));

  it('may be as large as is said, in file and field, and no larger', async () => {
    const form = await read(bodyOf([field('name', 'x'.repeat(20)), file(randomBytes(1000))]));
    expect([form.file.size, form.fields['name']!.length]).toEqual([1000, 20]);
    expect(await refusal(bodyOf([file(randomBytes(1001))]))).toEqual([
      413,
      expect.stringMatching(/1000 bytes/),
    ]);
    expect(await refusal(bodyOf([field('note', 'x'.repeat(21)), file('')]))).toEqual([
      413,
      expect.stringMatching(/note .* 20 bytes/),
    ]);
  });

  const latin: [string, Part[]][] = [
    [
      'its file',
      [{ ...file('x'), headers: '\r\nContent-Type: text/csv; header=present; charset=ISO-8859-1' }],
    ],
    [
      'a field',
      [{ ...field('name', 'x'), headers: '\r\ncontent-type: text/plain; Charset="utf-16"' }, file('x')],
    ],
    ['a header of two lines', [{ ...file('x'), headers: '\r\nContent-Type: text/csv;\r\n charset=latin1' }]],
    [
      'a part whose header comes in two pieces',
      [
        { ...field('other', 'x'.repeat(256 * 1024 - 200)), headers: '' },
        { ...file('x'), headers: '\r\nContent-Type: text/csv; charset=latin1' },
      ],
    ],
  ];
  it.each(latin)('is refused where it is not UTF-8 by the account of %s', async (_, parts) => {
    for (const boundary of ['b', '"b"']) {
      for (const preamble of ['', 'preamble\r\n']) {
        const body = Buffer.concat([Buffer.from(preamble), bodyOf(parts)]);
        expect(await refusal(body, `multipart/form-data; boundary=${boundary}`)).toEqual([
          415,
          expect.stringMatching(/UTF-8/),
        ]);
      }
    }
  });

  it('is taken where it says that it is UTF-8, or its file says otherwise of itself', async () => {
    const content = 'a\r\nContent-Type: text/csv; charset=latin1\r\n\r\n';
    const form = await read(
      bodyOf([
        { ...field('name', 'é'), headers: '\r\nContent-Type: text/plain; charset=utf8' },
        { ...file(content), headers: '\r\nContent-Type: text/csv; charset="UTF-8"' },
      ]),
    );
    expect(form.fields).toEqual({ name: 'é' });
    expect((await form.file.read()).toString()).toBe(content);
  });

  it('is searched for the headers of its parts however its bytes arrive', () => {
    const header = `Content-Disposition: form-data; name="file"; filename="data.csv"\r\nContent-Type: Text/CSV`;
    const body = bodyOf([field('name', 'x\r\n--'), file('\r\n--c\r\nno: header\r\n\r\n')]);
    for (let size = 1; size < body.length; size++) {
      const found: string[] = [];
      const headers = new PartHeaders('b', (one) => found.push(one));
      for (let at = 0; at < body.length; at += size) headers.push(body.subarray(at, at + size));
      expect(found).toEqual(['\r\nContent-Disposition: form-data; name="name"', `\r\n${header}`]);
    }
  });

  const nothing = Buffer.alloc(0);
  const cases: [string, Buffer, RegExp, string?][] = [
    ['without an end', bodyOf([file('a')], ''), /well-formed/],
    ['that ends within a header', Buffer.from('--b\r\nContent-Disposition: form-'), /well-formed/],
    ['of no parts at all', nothing, /well-formed/],
    [
      'with another boundary than it says',
      bodyOf([file('a')]),
      /well-formed/,
      'multipart/form-data; boundary=c',
    ],
    ['that names no boundary', bodyOf([file('a')]), /boundary/, 'multipart/form-data'],
    [
      'with headers that are none',
      Buffer.from('--b\r\n\u0001\u0002: \u0000\r\n\r\nx\r\n--b--\r\n'),
      /well-formed/,
    ],
    ['without the file', bodyOf([field('name', 'n')]), /file: is required/],
    ['with the file as a field', bodyOf([field('file', 'a,b')]), /file: must be a file/],
    ['with two files', bodyOf([file('a'), file('b')]), /one file/],
    ['with a file of another name', bodyOf([file('a', 'upload')]), /one file, in the part file/],
    ['with a field twice', bodyOf([field('name', '1'), field('name', '2'), file('a')]), /name: .*twice/],
    ['with a NUL in a field', bodyOf([field('name', 'a\0'), file('a')]), /NUL/],
    [
      'of more parts than anybody sends',
      bodyOf([...Array.from({ length: 60 }, (_, index) => field(`f${index}`, '')), file('a')]),
      /at most 50 parts/,
    ],
  ];
  for (const [title, body, detail, contentType] of cases) {
    it(`${title} is refused`, async () => {
      expect(await refusal(body, contentType)).toEqual([400, expect.stringMatching(detail)]);
    });
  }
});
