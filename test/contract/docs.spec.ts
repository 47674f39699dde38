import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse as parseYaml } from 'yaml';

const PAGES = readdirSync('docs', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.md'))
  .map((file) => path.join('docs', file))
  .sort();
const GUIDES = PAGES.filter((page) => page.startsWith('docs/guides/') || page === 'docs/start-here.md');
const WRITTEN = [...PAGES, 'README.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];

/** The set-up block of all guides that call the service. */
const SET_UP = `\`\`\`sh
export SERVICE_URL=$(jq -r .base_url .data/bootstrap.json)
export SERVICE_API_KEY=$(jq -r .api_key .data/bootstrap.json)
export SERVICE_WORKSPACE_ID=$(jq -r .workspace_id .data/bootstrap.json)
api() { curl -sS --fail-with-body -H "Authorization: Bearer $SERVICE_API_KEY" -H "X-Service-Workspace-Id: $SERVICE_WORKSPACE_ID" "$@"; }
\`\`\`
`;

const textOf = (page: string): string => readFileSync(page, 'utf8');

/** The page without code. */
const proseOf = (page: string): string =>
  textOf(page)
    .replace(/^```.*?^```$/gms, '')
    .replace(/`[^`\n]*`/g, '`x`');

/** The anchors of the headings of a page, as GitHub makes them. */
function anchorsOf(page: string): Set<string> {
  const headings = [
    ...textOf(page)
      .replace(/^```.*?^```$/gms, '')
      .matchAll(/^#+ (.*)$/gm),
  ];
  const anchors = headings.map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set(anchors);
}

const linksOf = (page: string): string[] =>
  [
    ...textOf(page)
      .replace(/^```.*?^```$/gms, '')
      .matchAll(/\]\(([^)\s]+)\)/g),
  ].map(([, link]) => link!);

describe.each(WRITTEN)('%s', (page) => {
  it('links only to files and headings that exist', () => {
    const broken = linksOf(page).filter((link) => {
      if (/^https?:/.test(link)) return false;
      const [file, anchor] = link.split('#') as [string, string?];
      const target = file === '' ? page : path.join(path.dirname(page), file);
      if (!existsSync(target)) return true;
      return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).has(anchor);
    });
    expect(broken).toEqual([]);
  });

  it('has configuration samples that can be parsed', () => {
    for (const [, language, text] of textOf(page).matchAll(/^```(json|yaml)(?: \S+)?\n(.*?)^```$/gms)) {
      if (language === 'yaml') parseYaml(text!);
      else if (!text!.includes('\n{')) JSON.parse(text!);
    }
  });
});

describe.each(PAGES)('%s', (page) => {
  it('is linked from the index', () => {
    const linked = linksOf('docs/README.md').map((link) => path.join('docs', link.split('#')[0]!));
    expect([...linked, 'docs/README.md']).toContain(page);
  });

  it('begins by saying who it is for', () => {
    const [title, lead] = textOf(page).split('\n\n') as [string, string];
    expect(title).toMatch(/^# \S/);
    if (page !== 'docs/README.md') expect(lead).toMatch(/^For /);
  });

  it('names each file before its block, because GitHub does not show the name in the block', () => {
    const unnamed = [...textOf(page).matchAll(/([^\n]*)\n\n```\w+ (\S+)\n/g)].filter(
      ([, lead, name]) => !lead!.includes(`\`${name}\``) && !lead!.includes(`\`${name} `),
    );
    expect(unnamed.map(([, lead, name]) => [name, lead])).toEqual([]);
  });

  it('has code blocks only in known languages', () => {
    const languages = [...textOf(page).matchAll(/^```(\S*)(?: (\S+))?\n/gm)].map(([, language, name]) => ({
      language: language!,
      name,
    }));
    const others = languages.filter(
      ({ language, name }) =>
        name === undefined &&
        !['sh', 'json', 'text', 'yaml', 'toml', 'ini', 'console', 'ts', 'mermaid'].includes(language),
    );
    expect(others.filter(({ language }) => language !== '')).toEqual([]);
  });
});

describe.each(GUIDES)('%s', (page) => {
  it('has the same set-up block as all guides, if it calls the API', () => {
    const text = textOf(page);
    if (/\bapi .*\$SERVICE_URL|curl .*\$SERVICE_URL(?!\/docs\/)/.test(text)) expect(text).toContain(SET_UP);
  });

  it('is short', () => {
    expect(proseOf(page).split(/\s+/).length).toBeLessThan(1_200);
  });
});
