/** Whether a method only shows what there is. */
export const isRead = (method: string) => method === 'GET' || method === 'HEAD'
