import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

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
 * GSM8K publishes the solutions of example models.
 */
export async function readCases(file: string): Promise<Case[]> {
  const cases: Case[] = [];
  let number = 0;
  for await (const line of createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Infinity })) {
    number += 1;
    if (line.trim() === '') continue;
    const { question, ground_truth, ...rest } = JSON.parse(line) as Record<string, unknown>;
    if (typeof question !== 'string' || typeof ground_truth !== 'string') {
      throw new Error(`${file}, line ${number}: a case must have a question and a ground_truth.`);
    }
    const answers = new Map(
      Object.entries(rest).filter((entry): entry is [string, Answer] => isAnswer(entry[1])),
    );
    cases.push({ id: `line-${number}`, question, ground_truth, answers });
  }
  if (cases.length === 0) throw new Error(`${file} contains no cases.`);
  return cases;
}

/** Every model that answered at least one case, in order of appearance. */
export const modelsOf = (cases: Case[]): string[] => [
  ...new Set(cases.flatMap(({ answers }) => [...answers.keys()])),
];
