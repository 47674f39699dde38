import type { Variants } from '#platform/http';
import { isJsonObject } from '#platform/json';
import { CHECK, CHECK_FORMS } from './check.forms';
import {
  byType,
  flag,
  type Form,
  form,
  type FormFault,
  integer,
  list,
  nullable,
  number,
  oneOf,
  optional,
  Place,
  text,
  type TypeOf,
  value,
} from './form';
import {
  cutText,
  DEFAULT_MEMORY_MB,
  DEFAULT_TIMEOUT_MS,
  MAX_CHECKS,
  MAX_CHECKS_LENGTH,
  MAX_ERROR_LENGTH,
  MAX_MEMORY_MB,
  MAX_SOURCE_BYTES,
  MAX_TIMEOUT_MS,
  MIN_MEMORY_MB,
} from './limits';
import { parsePrompt } from './prompt.template';

export const SCORER_KINDS = ['code', 'llm_judge', 'human'] as const;
export type ScorerKind = (typeof SCORER_KINDS)[number];

const SCRIPT = form('ScriptDefinitionDto', 'A scorer of kind `code`, in JavaScript.', {
  language: optional(oneOf('', ['javascript']), 'javascript'),
  source: value<string>(
    'Defines `score({ input, output, expected, metadata, trace, session })`. At most 256 KiB in UTF-8.',
    { type: 'string', minLength: 1 },
    faultOfSource,
  ),
  timeout_ms: optional(integer('Time limit of one run, in ms.', 1, MAX_TIMEOUT_MS), DEFAULT_TIMEOUT_MS),
  memory_mb: optional(
    integer('Heap of the interpreter, in MiB.', MIN_MEMORY_MB, MAX_MEMORY_MB),
    DEFAULT_MEMORY_MB,
  ),
});

function faultOfSource(source: unknown): string | undefined {
  if (typeof source !== 'string' || source.trim() === '') {
    return 'must be a string that defines a function score';
  }
  const bytes = Buffer.byteLength(source);
  return bytes > MAX_SOURCE_BYTES
    ? `must have at most ${MAX_SOURCE_BYTES} bytes; it has ${bytes}`
    : undefined;
}

const CHECKS = form(
  'ChecksDefinitionDto',
  'A scorer of kind `code` that uses checks instead of a `source`.',
  {
    checks: list('', CHECK, {
      noun: 'checks',
      min: 1,
      max: MAX_CHECKS,
      key: 'name',
      maxText: MAX_CHECKS_LENGTH,
    }),
    aggregate: optional(
      oneOf(
        'How the checks are combined into one score: `all` (1 if all passed, else 0), `any` (1 if at least ' +
          'one passed, else 0) or `mean` (the share that passed).',
        ['all', 'any', 'mean'],
      ),
      'all',
    ),
  },
);

const VALUE_MAX = 255;
const TEXT_MAX = 10_000;

const CHOICE = form('ChoiceDto', 'One of the values to choose from.', {
  value: text('Unique among the choices.', { max: VALUE_MAX }),
  score: number('The score for this choice.'),
  description: nullable(text('', { min: 0, max: TEXT_MAX })),
});
const CHOICE_OUTPUT = form(
  'ChoiceOutputDto',
  'One of several values. The score is the score of the chosen value.',
  {
    type: oneOf('', ['choice']),
    choices: list('', CHOICE, { noun: 'choices', min: 2, max: 100, key: 'value' }),
  },
);
const BOOLEAN_OUTPUT = form('BooleanOutputDto', 'True or false. The score is 1 or 0.', {
  type: oneOf('', ['boolean']),
});
const NUMERIC_OUTPUT = form(
  'NumericOutputDto',
  'A number from `min` to `max`, which is the score.',
  { type: oneOf('', ['numeric']), min: number(''), max: number('Greater than `min`.') },
  ({ min, max }, place) => {
    if (min >= max) place.at('max').fault('must be greater than min');
  },
);
const SINGLE_OUTPUTS = { choice: CHOICE_OUTPUT, boolean: BOOLEAN_OUTPUT, numeric: NUMERIC_OUTPUT };
const SINGLE_OUTPUT = byType(SINGLE_OUTPUTS);
const QUESTION = form('QuestionDto', 'One of several questions.', {
  key: text('Unique among the questions. Names the answer in `answers`.', { max: VALUE_MAX }),
  question: text('', { max: TEXT_MAX }),
  output: SINGLE_OUTPUT,
});
const QUESTIONS_OUTPUT = form(
  'QuestionsOutputDto',
  'Several questions, each with its own output. The score is the mean of their scores.',
  {
    type: oneOf('', ['questions']),
    questions: list('', QUESTION, { noun: 'questions', min: 1, max: 50, key: 'key' }),
  },
);
const OUTPUT = byType({ ...SINGLE_OUTPUTS, questions: QUESTIONS_OUTPUT });

/** An `output` whose answer is a single value. */
export type SingleOutput = TypeOf<typeof SINGLE_OUTPUT>;
/** The form of the answer of a judge or a person. */
export type Output = TypeOf<typeof OUTPUT>;

export const JUDGE_BACKENDS = ['llm', 'classifier'] as const;
export type JudgeBackendName = (typeof JUDGE_BACKENDS)[number];

const PROMPT_MAX = 100_000;
const JUDGE_MEMBERS = {
  model: nullable(text('Defaults to the configured model of the service.', { max: 255 })),
  reasoning: nullable(flag('Whether the judge explains its answer before giving it.'), true),
  samples: nullable(integer('Number of answers to request from the judge.', 1, 20), 1),
  temperature: nullable(
    number("Defaults to 0 for one sample, and to the model's own default for several.", 0, 2),
  ),
};

function faultOfPrompt(prompt: string): string | undefined {
  try {
    parsePrompt(prompt);
    return undefined;
  } catch (error) {
    return cutText((error as Error).message, MAX_ERROR_LENGTH);
  }
}

const LLM = form('LlmDefinitionDto', 'A scorer of kind `llm_judge`: a question to a language model.', {
  backend: nullable(oneOf('', ['llm']), 'llm'),
  prompt: text(
    'A Mustache template with the variables `input`, `output`, `expected`, `metadata`, `trace` and `session`, and paths into them (singular queries of RFC 9535); unknown variables are rejected. ' +
      'A session or trace is inserted as a transcript, and delimiters around inserted values mark them as data.',
    { max: PROMPT_MAX },
    faultOfPrompt,
  ),
  output: OUTPUT,
  ...JUDGE_MEMBERS,
});
const CLASSIFIER = form(
  'ClassifierDefinitionDto',
  'A scorer of kind `llm_judge`: a classifier that chooses a value. It ignores `reasoning`, `samples` and `temperature`.',
  {
    backend: oneOf('', ['classifier']),
    prompt: nullable(
      text('Without a prompt, the classifier sees the output.', { max: PROMPT_MAX }, faultOfPrompt),
    ),
    output: CHOICE_OUTPUT,
    ...JUDGE_MEMBERS,
  },
);

const HUMAN = form('HumanDefinitionDto', 'A scorer of kind `human`: a question to people.', {
  rubric: text('Instructions for the people who score.', { max: 100_000 }),
  output: OUTPUT,
  min_annotations: nullable(
    integer('The number of people who must score a result before their scores are written to it.', 1, 100),
    1,
  ),
});

export type ScriptDefinition = TypeOf<typeof SCRIPT>;
export type ChecksDefinition = TypeOf<typeof CHECKS>;
/** How checks are combined into a score. */
export type Aggregate = NonNullable<ChecksDefinition['aggregate']>;
export type JudgeDefinition = TypeOf<typeof LLM> | TypeOf<typeof CLASSIFIER>;
export type HumanDefinition = TypeOf<typeof HUMAN>;

/** The forms of definitions by the kind of the scorer. */
const DEFINITIONS: Record<ScorerKind, readonly Form<unknown>[]> = {
  code: [SCRIPT, CHECKS],
  llm_judge: [LLM, CLASSIFIER],
  human: [HUMAN],
};
/** OpenAPI schemas of all forms of definitions. */
export const DEFINITION_SCHEMAS = Object.values(DEFINITIONS).flatMap((forms) =>
  forms.map(({ schema }) => schema),
);
/** How the definition depends on the kind. */
export const DEFINITION_VARIANTS: Variants = Object.fromEntries(
  Object.entries(DEFINITIONS).map(([kind, forms]) => [
    kind,
    { definition: forms.length === 1 ? forms[0]!.schema : { anyOf: forms.map(({ schema }) => schema) } },
  ]),
);
const PARTS: readonly Form<unknown>[] = [
  ...CHECK_FORMS,
  ...Object.values(SINGLE_OUTPUTS),
  ...[CHOICE, QUESTION, QUESTIONS_OUTPUT],
];
/** OpenAPI components of all forms, by their names. */
export const DEFINITION_COMPONENTS = Object.fromEntries(
  [...Object.values(DEFINITIONS).flat(), ...PARTS].map(({ name, component }) => [name, component]),
);

/**
 * Returns what is wrong with the definition of a `code` scorer. Does not evaluate a source, and compiles patterns and
 * schemas in the calling thread. `CodeEngine.validate` does both in a worker thread.
 */
export function faultsOfCode(definition: unknown): FormFault[] {
  const has = (member: string): boolean => isJsonObject(definition) && definition[member] !== undefined;
  const [hasSource, hasChecks] = [has('source'), has('checks')];
  if (isJsonObject(definition) && hasSource === hasChecks) {
    const detail = hasSource
      ? 'has both source and checks. Keep one of them'
      : 'needs source (with "language": "javascript") or checks';
    return [{ pointer: '', detail }];
  }
  return faultsOf(hasChecks ? CHECKS : SCRIPT, definition);
}

/** Returns what is wrong with the definition of an `llm_judge` scorer. */
export function faultsOfJudge(definition: unknown): FormFault[] {
  const backend = (isJsonObject(definition) ? definition.backend : undefined) ?? 'llm';
  if (!JUDGE_BACKENDS.includes(backend as JudgeBackendName)) {
    return [{ pointer: '/backend', detail: `must be one of ${JUDGE_BACKENDS.join(', ')}` }];
  }
  return faultsOf(backend === 'classifier' ? CLASSIFIER : LLM, definition);
}

/** Returns what is wrong with the definition of a `human` scorer. */
export const faultsOfHuman = (definition: unknown): FormFault[] => faultsOf(HUMAN, definition);

function faultsOf(of: Form<unknown>, definition: unknown): FormFault[] {
  const faults: FormFault[] = [];
  of.check(definition, new Place('', faults));
  return faults;
}

/** Describes the faults of a definition as the error of an item. */
export function describeFaults(faults: readonly FormFault[]): string {
  const listed = faults.map(({ pointer, detail }) => `${pointer} ${detail}`.trim());
  return cutText(`the definition cannot be used: ${listed.join('; ')}`, MAX_ERROR_LENGTH);
}

export const isScript = (definition: object): definition is ScriptDefinition => 'source' in definition;

/** Returns the backend that a valid definition names. */
export const judgeBackendOf = ({ backend }: { backend?: JudgeBackendName | null }): JudgeBackendName =>
  backend ?? 'llm';

/** Returns the number of people who must score a result before their scores are written to it. */
export const minAnnotationsOf = ({ min_annotations }: HumanDefinition): number => min_annotations ?? 1;
