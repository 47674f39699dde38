import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { type MultipartForm, type MultipartRules, readFormFiles, readMultipart } from './multipart.reader';
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
      const headers = new PartHeaders('b', 50, (one) => found.push(one));
      for (let at = 0; at < body.length; at += size) headers.push(body.subarray(at, at + size));
      expect(found).toEqual(['\r\nContent-Disposition: form-data; name="name"', `\r\n${header}`]);
    }
  });

  const MIB = 1024 * 1024;
  const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n';
  /** A search of the rest at each of these takes hours. */
  const traps: [string, string, string][] = [
    ['what only begins like its boundary', `${head}\r\n`, '\r\n--bx'],
    ['boundaries without a header', `${head}\r\n`, '\r\n--b\r\nx'],
    ['boundaries without a header, from its beginning', '', '\r\n--b\r\nx'],
    ['boundaries with a header', '', '\r\n--b\r\nx: y\r\n\r\n'],
    ['boundaries within a header', `${head}x: `, '\r\n--b\r\ny: z'],
    ['ends', `${head}\r\n`, '\r\n--b--'],
    ['halves of a boundary', `${head}\r\n`, '\r\n--'],
    ['ends of a header', `${head}\r\n`, '\r\n\r\n'],
  ];
  it.each(traps)('costs what its bytes cost where it is full of %s', async (_, start, unit) => {
    const headers = new PartHeaders('b', 50, () => undefined);
    const bytes = Buffer.concat([Buffer.from(start), Buffer.alloc(8 * MIB, unit)]);
    // most of these are refused, and all of them are read to their end
    const refused = (error: unknown) => expect(error).toMatchObject({ name: 'Problem' });
    try {
      headers.push(bytes);
    } catch (error) {
      refused(error);
    }
    await read(bytes).catch(refused);
  });

  it('is not read by a boundary that takes its length to search for at each byte', async () => {
    const boundary = 'a'.repeat(71);
    for (const type of [boundary, `"${boundary}"`, '"a\\"b"', '""', '"é"']) {
      expect(await refusal(bodyOf([file('x')]), `multipart/form-data; boundary=${type}`)).toEqual([
        400,
        expect.stringMatching(/one boundary in Content-Type, of 1 to 70 characters/),
      ]);
    }
    const longest = 'a'.repeat(70);
    const body = bodyOf([file('x')])
      .toString()
      .replaceAll('--b', `--${longest}`);
    const form = await read(Buffer.from(body), `multipart/form-data; boundary=${longest}`);
    expect(form.file.size).toBe(1);
  });

  it('has one boundary, and not another for who reads Content-Type otherwise', async () => {
    const latin = bodyOf([{ ...file('x'), headers: '\r\nContent-Type: text/csv; charset=latin1' }]);
    for (const parameters of [
      'boundary=b; boundary=c',
      'boundary=c; boundary=b',
      'boundary=b; Boundary="b"',
      'boundary=b;boundary = c',
    ]) {
      expect(await refusal(latin, `multipart/form-data; ${parameters}`)).toEqual([
        400,
        expect.stringMatching(/Content-Type/),
      ]);
    }
    for (const parameters of ['x="; boundary=c"; boundary=b', 'charset=utf-8; BOUNDARY="b"']) {
      expect((await refusal(latin, `multipart/form-data; ${parameters}`))[0]).toBe(415);
      expect((await read(bodyOf([file('x')]), `multipart/form-data; ${parameters}`)).file.size).toBe(1);
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
    // the rest of the file would be lost
    [
      'with its boundary within the file',
      bodyOf([file('a\r\n--bx\r\nc')]),
      /boundary may not be within a part/,
    ],
    [
      'with a header that has no end',
      Buffer.from(`--b\r\nX: ${'x'.repeat(17 * 1024)}\r\n--b--\r\n`),
      /header of more than 16384 bytes/,
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

describe('a form with files', () => {
  const read = async (parts: Part[], filesMax = 3) => {
    const spooled = await SpooledFile.create();
    try {
      await spooled.append(bodyOf(parts));
      spooled.finish();
      const request = { file: spooled, contentType: 'multipart/form-data; boundary=b' };
      return await readFormFiles(request, { fields: ['name'], fieldBytes: 20, filesMax });
    } finally {
      await spooled.close();
    }
  };
  const at = (filename: string, content: string | Buffer): Part => ({ name: 'any', filename, content });

  it('tells them in order, with the whole of their names and contents', async () => {
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

  it('is refused where it has too many of them', async () => {
    const many = Array.from({ length: 4 }, (_, index) => at(`${index}`, 'x'));
    await expect(read(many)).rejects.toMatchObject({
      status: 400,
      detail: expect.stringContaining('at most 3 files'),
    });
  });
});
