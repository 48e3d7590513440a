import { Id, Strict, Timestamp, VisibleText } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const text = VisibleText({ maxLength: 200 })

export const MyThing = Type.Object({ id: Id('my_thing'), text, createdAt: Timestamp }, { title: 'MyThing' })

export const NewMyThing = Strict({ text }, { title: 'NewMyThing' })
