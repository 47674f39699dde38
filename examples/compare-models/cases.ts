import { readFile } from 'node:fs/promises';

/** One model's answer to a case, and whether a person marked it as right. */
export interface Answer {
  solution: string;
  is_correct?: boolean;
}

/** A problem with its true answer, and the answers of several models. */
export interface Case {
  /** The number of its line, which identifies the case in every experiment. */
  id: string;
  question: string;
  ground_truth: string;
  answers: Map<string, Answer>;
}

const isAnswer = (value: unknown): value is Answer =>
  typeof value === 'object' && value !== null && typeof (value as Partial<Answer>).solution === 'string';

/**
 * Reads JSON Lines of `{"question", "ground_truth", "<model>": {"solution", "is_correct"?}, …}`, the shape in which
 * GSM8K publishes the solutions of example models. Throws an Error that names the file, and the line if there is one.
 */
export async function readCases(file: string): Promise<Case[]> {
  const lines = (await readText(file)).split(/\r?\n/);
  const cases = lines.flatMap((line, index) => (line.trim() === '' ? [] : [readCase(line, index + 1, file)]));
  if (cases.length === 0) throw new Error(`${file} contains no cases. Each line must be a JSON object.`);
  if (modelsOf(cases).length === 0) {
    throw new Error(
      `${file} contains no answers. Add members such as "small": {"solution": "A: 42"} to its lines.`,
    );
  }
  return cases;
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(
      code === 'ENOENT' ? `The file ${file} does not exist.` : `Cannot read ${file}: ${message}`,
      {
        cause: error,
      },
    );
  }
}

function readCase(line: string, number: number, file: string): Case {
  const fault = (text: string, cause?: unknown) => new Error(`${file}, line ${number}: ${text}`, { cause });
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw fault(`The line is not valid JSON. ${(error as Error).message}`, error);
  }
  const { question, ground_truth, ...rest } = (value ?? {}) as Record<string, unknown>;
  if (typeof question !== 'string' || typeof ground_truth !== 'string') {
    throw fault('A case must be an object with the strings `question` and `ground_truth`.');
  }
  const answers = Object.entries(rest).filter((entry): entry is [string, Answer] => isAnswer(entry[1]));
  return { id: `line-${number}`, question, ground_truth, answers: new Map(answers) };
}

/** Every model that answered at least one case, in order of appearance. */
export const modelsOf = (cases: Case[]): string[] => [
  ...new Set(cases.flatMap(({ answers }) => [...answers.keys()])),
];
