// Browsers start no worker for pages that are opened as files. There a hidden frame does the search's work.
if (location.protocol === 'file:') {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement('iframe')
      frame.hidden = true
      document.body.appendChild(frame)
      this.inside = frame.contentWindow
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent('message', { data }))
      this.inside.importScripts = (...urls) => Promise.all(urls.map((one) => this.load(one)))
      this.ready = this.load(url)
    }

    load(url) {
      return new Promise((done) => {
        const script = this.inside.document.createElement('script')
        script.src = url
        script.onload = done
        this.inside.document.body.appendChild(script)
      })
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent('message', { data })))
    }

    terminate() {}
  }
}
