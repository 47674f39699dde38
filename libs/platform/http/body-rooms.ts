import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import { type Gauge, Metrics } from '#platform/metrics';
import { BodyRoom } from './body-room';

/** A room that bodies are held in; routes with the same object share it. */
export interface RoomRule {
  /** Of its metric. */
  name: string;
  bytes: (environment: Environment) => number;
  /** Of the problem 503, where there is no more of it. */
  detail: string;
}

/**
 * JSON bodies in a content coding, once they are decoded: a few bytes that were sent can be a thousand times as many, for
 * as long as their request takes. What is as large as it was sent needs no such bound.
 */
export const DECODED_ROOM: RoomRule = {
  name: 'decoded',
  bytes: () => 64 * 1024 * 1024,
  detail: 'Too many large encoded bodies are dealt with at once. Send it again later.',
};

/** The rooms of a process. */
@Injectable()
export class BodyRooms {
  private readonly rooms = new Map<RoomRule, BodyRoom>();
  private readonly held: Gauge<'room'>;

  constructor(
    private readonly environment: Environment,
    metrics: Metrics,
  ) {
    this.held = metrics.gauge(
      'request_body_bytes',
      'What bodies that are dealt with take of the memory, where that has a bound.',
      ['room'],
    );
  }

  of(rule: RoomRule): BodyRoom {
    let room = this.rooms.get(rule);
    if (!room) {
      const { name, bytes, detail } = rule;
      room = new BodyRoom(bytes(this.environment), detail, (taken) => this.held.set({ room: name }, taken));
      this.rooms.set(rule, room);
    }
    return room;
  }
}
