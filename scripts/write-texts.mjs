// Lists every text that people read: the summaries and descriptions of openapi.json, and the messages in the sources
// (problems, configuration, logs, commands). `npm run openapi` writes them to test/contract/texts.txt, for reviewers to read.
// With --print it prints them instead.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

// an import would search the source of the compiler for its exports, which takes half a second
const ts = createRequire(import.meta.url)('typescript');

const FILE = 'test/contract/texts.txt';
/** Two words with a space between them. */
const PROSE = /[a-z\d`)…] [`(<"\w…]/;
/** SQL, which the sources have in plain strings too. */
const SQL =
  /^\s*(?:INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|SET|BEGIN|COPY|ANALYZE|OVER|LEFT)\b|\b(?:SELECT|FROM|WHERE|CASE WHEN|JOIN|COLLATE|ORDER BY|NULLS|IS (?:NOT )?NULL|AS [a-z_]+|COLUMNS)\b|::|\b[a-z]\.[a-z_]+/;

const lines = [];
const seen = new Set();

/** Adds a text below a heading, unless it was listed before. */
function add(heading, place, text) {
  if (!text) return;
  const line = text.replace(/\s+/g, ' ').trim();
  if (seen.has(line)) return;
  seen.add(line);
  if (lines.heading !== heading) lines.push('', heading);
  lines.heading = heading;
  lines.push(`  ${place && `${place}: `}${line}`);
}

function addDocument({ info, tags, paths, components }) {
  add('The API', '', info.description);
  for (const { name, description } of tags) add('The API', name, description);
  for (const operations of Object.values(paths)) {
    for (const { operationId, summary, description, ...rest } of Object.values(operations)) {
      add(operationId, '', summary);
      add(operationId, '', description);
      addDescriptions(operationId, '', rest);
    }
  }
  for (const [name, schema] of Object.entries(components.schemas)) addDescriptions(name, '', schema);
  addDescriptions('Components', '', { ...components, schemas: {} });
}

/** Adds the descriptions in a part of the document. A text's place is the nearest member, parameter or status. */
function addDescriptions(heading, place, part) {
  if (typeof part !== 'object' || part === null) return;
  const here = typeof part.name === 'string' && part.in ? part.name : place;
  if (typeof part.description === 'string') add(heading, here, part.description);
  for (const [key, value] of Object.entries(part)) {
    const isName = ![
      'properties',
      'items',
      'schema',
      'content',
      'parameters',
      'responses',
      'requestBody',
    ].includes(key);
    if (key !== 'example' && key !== 'examples')
      addDescriptions(heading, isName && !/^\d$|^(?:all|any|one)Of$/.test(key) ? key : here, value);
  }
}

/** Returns the text of a literal, a template or a concatenation, with `{…}` for what is computed. */
function textOf(node) {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return (
      node.head.text +
      node.templateSpans.map(({ expression, literal }) => `${valueOf(expression)}${literal.text}`).join('')
    );
  if (ts.isParenthesizedExpression(node)) return textOf(node.expression);
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    const [left, right] = [textOf(node.left), textOf(node.right)];
    if (left !== null || right !== null) return (left ?? valueOf(node.left)) + (right ?? valueOf(node.right));
  }
  return null;
}

const valueOf = (expression) => {
  const text = expression.getText().replace(/\s+/g, ' ');
  return text.length <= 40 ? `{${text}}` : '{…}';
};

const isProse = (text) =>
  PROSE.test(text) && /[a-z]{2}/i.test(text.replace(/\{[^}]*\}/g, '')) && !isWordList(text);

/** Tells whether a text is a list of words, such as stop words. */
const isWordList = (text) => text.split(' ').length > 30 && !/[.,;:]/.test(text);

function addMessages(file) {
  const { ParseNone } = ts.JSDocParsingMode;
  const options = { languageVersion: ts.ScriptTarget.Latest, jsDocParsingMode: ParseNone };
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), options, true);
  const visit = (node) => {
    if (ts.isImportDeclaration(node) || ts.isTaggedTemplateExpression(node) || ts.isLiteralTypeNode(node))
      return;
    const text = textOf(node);
    if (text === null) return void ts.forEachChild(node, visit);
    if (isProse(text) && !SQL.test(text)) add(file, '', text);
  };
  visit(source);
}

addDocument(JSON.parse(readFileSync('openapi.json', 'utf8')));
const sources = ['libs', 'src', 'clients', 'examples', 'scripts']
  .flatMap((folder) => readdirSync(folder, { recursive: true }).map((file) => `${folder}/${file}`))
  .filter(
    (file) =>
      /\.(?:ts|mjs)$/.test(file) &&
      !/\.(?:spec|fixture)\.ts$|^libs\/testing\/|\/migrations\/|\/(?:node_modules|dist)\/|\/src\/api\/|held-process\.ts$/.test(
        file,
      ),
  );
for (const file of sources.sort()) addMessages(file);

const texts = `${lines.join('\n').trim()}\n`;
if (process.argv.includes('--print')) process.stdout.write(texts);
else writeFileSync(FILE, texts);
