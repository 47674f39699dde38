import { Injectable } from '@nestjs/common';
import { DECLARED_KINDS, type DeclaredKind, type ReconcileStep } from './reconcile-step';

/** The steps of a reconcile, one for each kind. An application that reconciles does not start without them. */
@Injectable()
export class ReconcileSteps {
  private readonly steps = new Map<DeclaredKind, ReconcileStep>();

  /** Adds a step. Each step calls this in its constructor. */
  add(step: ReconcileStep): void {
    if (this.steps.has(step.kind)) throw new Error(`Two steps reconcile the kind ${step.kind}.`);
    this.steps.set(step.kind, step);
  }

  of(kind: DeclaredKind): ReconcileStep {
    const step = this.steps.get(kind);
    if (!step) throw new Error(`No step reconciles the kind ${kind}.`);
    return step;
  }

  /** Returns the steps in the order of a reconcile. */
  inOrder(): ReconcileStep[] {
    return DECLARED_KINDS.map((kind) => this.of(kind));
  }
}
