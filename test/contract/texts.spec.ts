import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const FILE = 'test/contract/texts.txt';

/** Turns of phrase that readers had to read twice. */
const ODD = [
  /\b(?:that|which) (?:is|are) none\b/i,
  /\bof which(?: there)? (?:is|are) (?:no|none)\b/i,
  /\bheld against\b/i,
  /\bheld to (?:the|its|a)\b/i,
  /\bwhat (?:it|they) (?:is|are|was|were) told\b/i,
  /\bwhat (?:arrives|was said|is no)\b/i,
  /\bunder way\b/i,
  /\bwhoever waits\b/i,
  /(?:^|\. )Of (?:the same|how many|what|whom|these|those)\b/m,
  /\bsomebody else has to\b/i,
  /\bthe answer then is\b/i,
  /\bof which none\b/i,
  /\bof each the\b/i,
  /\bthere is none of\b/i,
  /\bas the client wrote\b/i,
  /\bis people, who\b/i,
  /\ba sweep\b/i,
  /\bsuch that are\b/i,
  /\bit is told\b/i,
  /\bhas its time\b/i,
];

const filesIn = (folder: string, ending: RegExp): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => ending.test(file) && !/(?:^|\/)(?:node_modules|dist)\//.test(file))
    .map((file) => `${folder}/${file}`);

/** The text of a file, with wrapped comments joined into one line. */
const flowing = (file: string): string =>
  readFileSync(file, 'utf8').replace(/\n\s*(?:\*|\/\/) ?(?=\S)/g, ' ');

interface Schema {
  description?: string;
  properties?: Record<string, Schema>;
  [keyword: string]: unknown;
}

/** Returns the described members of all schemas in a part of the OpenAPI document. */
const membersOf = (schema: Schema, name = ''): [name: string, description: string][] =>
  Object.entries(schema).flatMap(([keyword, value]) => {
    if (typeof value !== 'object' || value === null || /^examples?$/.test(keyword)) return [];
    if (keyword !== 'properties') return membersOf(value as Schema, `${name}/${keyword}`);
    return Object.entries(value as Record<string, Schema>).flatMap(([member, of]) => [
      ...(of.description === undefined ? [] : [[`${name}/${member}`, of.description] as [string, string]]),
      ...membersOf(of, `${name}/${member}`),
    ]);
  });

const sentencesIn = (text: string): number => text.split(/(?<=[.!?])\s+(?=[A-Z`'"\d(])/).length;

describe('the texts that people read', () => {
  it('are all listed in texts.txt, for reviewers (npm run openapi writes it)', () => {
    const present = execFileSync(process.execPath, ['scripts/write-texts.mjs', '--print'], {
      encoding: 'utf8',
      maxBuffer: 16 * 1024 * 1024,
    });
    expect(present).toBe(readFileSync(FILE, 'utf8'));
  });

  it('have at most two sentences for each member of a schema', () => {
    const members = membersOf(JSON.parse(readFileSync('openapi.json', 'utf8')) as Schema);
    expect(members.length).toBeGreaterThan(500);
    expect(members.filter(([, description]) => sentencesIn(description) > 2)).toEqual([]);
  });

  it('contain no odd turns of phrase, and neither do the docs and the sources', () => {
    const files = [
      FILE,
      'README.md',
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      '.env.example',
      ...filesIn('docs', /\.md$/),
      ...filesIn('clients', /\.(?:md|ts|mjs)$/),
      ...['src', 'libs', 'bench', 'examples'].flatMap((folder) => filesIn(folder, /\.(?:ts|mjs)$/)),
      ...filesIn('test', /\.ts$/).filter((file) => !file.endsWith('texts.spec.ts')),
    ];
    const odd = files.flatMap((file) => {
      const text = flowing(file);
      return ODD.flatMap((phrase) => {
        const hit = phrase.exec(text);
        return hit ? [`${file}: ${text.slice(Math.max(0, hit.index - 40), hit.index + 60).trim()}`] : [];
      });
    });
    expect(odd).toEqual([]);
  });
});
